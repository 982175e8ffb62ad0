import { bodyOperations } from '../../support/body-operations';
import { TestService } from '../../support/service';

const budgetMs = 100;
const size = 60_000;

/** Families of texts on which backtracking expressions take quadratic or exponential time. */
const families: Record<string, string> = {
  letters: `${'a'.repeat(size)}!`,
  'dotted words': `${'a.'.repeat(size / 2)}@`,
  'address begins': 'a@'.repeat(size / 2),
  'host labels': `a@${'a-'.repeat(size / 2)}`,
  dots: `a@${'.'.repeat(size)}b`,
  spaces: `a${' '.repeat(size)}x`,
  tabs: `\t${'\t'.repeat(size)}x`,
  digits: `+${'1'.repeat(size)}x`,
  hyphens: `${'en-'.repeat(size / 3)}!`,
  slashes: `${'A/'.repeat(size / 2)}!`,
  'address groups': `${'1.'.repeat(size / 2)}/`,
  colons: `${':'.repeat(size)}1/129`,
  wildcards: '%_'.repeat(size / 2),
  backslashes: '\\'.repeat(size - 2),
  quotes: '"'.repeat(size / 2),
  marks: '\u0301'.repeat(size / 3),
};

describe('inputs that make regular expressions backtrack', () => {
  let service: TestService;
  let token: string;
  let user_id: string;
  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
    ({ user_id } = await service.createUser());
  });
  afterAll(() => service.close());

  /**
   * Returns the processor time in ms: the best of up to eight runs, because other work counts, too.
   */
  async function cost(request: () => Promise<{ status: number }>): Promise<number> {
    const times: number[] = [];
    do {
      const began = process.cpuUsage();
      const { status } = await request();
      const { user, system } = process.cpuUsage(began);
      expect(status).toBeLessThan(500);
      times.push((user + system) / 1_000);
    } while (times.length < 8 && Math.min(...times) > budgetMs);
    return Math.min(...times);
  }

  it.each(Object.entries(families))('handles %s in every field of a body in time (I15)', async (_family, text) => {
    const all = bodyOperations(user_id).flatMap(({ method, url, fields }) =>
      fields.map((field) => ({ method, url, ...field })),
    );
    const fields = all.filter(
      ({ name, type }, index) => type !== 'boolean' && all.findIndex((other) => other.name === name) === index,
    );
    expect(fields.length).toBeGreaterThan(20);
    for (const { method, url, name, type } of fields) {
      const value = type === 'array' ? [text] : type === 'object' ? { [text.slice(0, 100)]: text } : text;
      const spent = await cost(() => service.send(method, url, { token, body: { [name]: value } }));
      expect([url, name, spent < budgetMs]).toEqual([url, name, true]);
    }
  });

  it('handles the texts in query parameters of each kind in time (I15)', async () => {
    const kinds = [
      'q',
      'cursor',
      'per_page',
      'order_by',
      'name',
      'email_like',
      'first_name_in',
      'role_in',
      'created_at_gt',
      'last_login_ip',
      'last_login_ip_in',
      'user_id',
      'user_id_in',
      'online',
      'attributes.k',
      'x',
    ];
    for (const [family, text] of Object.entries(families))
      for (const name of kinds) {
        const value = encodeURIComponent(text).slice(0, 48_000).replace(/%.?$/, '');
        const spent = await cost(() => service.get(`/user/list?count=none&${name}=${value}`, { token }));
        expect([family, name, spent < budgetMs]).toEqual([family, name, true]);
      }
  });

  it('handles the texts in paths of the console in time (I15)', async () => {
    for (const [family, text] of Object.entries(families)) {
      const path = `/console/a${encodeURIComponent(text).slice(0, size).replace(/%.?$/, '')}/`;
      const spent = await cost(() => service.get(path));
      expect([family, spent < budgetMs]).toEqual([family, true]);
    }
  });

  it('handles the texts in headers in time (I15)', async () => {
    const texts = Object.values(families).map((text) => text.replace(/[^\x20-\x7e]/g, ' '));
    for (const text of texts)
      for (const [name, value] of [
        ['authorization', `Bearer ${text}`],
        ['authorization', `Bearer${' '.repeat(size)}${text.slice(0, 9)} x`],
        ['x-auth-token', text],
        ['x-request-id', text],
        ['if-match', `"${text}", ${text.slice(0, 100)}`],
        ['content-type', `application/json${text}`],
        ['content-type', `application/json;${' '.repeat(size)}charset=utf-8;`],
        ['accept', text],
        ['user-agent', text],
        ['forwarded', text],
      ] as const) {
        const headers = { ...(name === 'authorization' ? {} : { authorization: `Bearer ${token}` }), [name]: value };
        expect([
          name,
          (await cost(() => service.patch(`/user/${user_id}`, { headers, body: '{}' }))) < budgetMs,
        ]).toEqual([name, true]);
      }
  });
});
