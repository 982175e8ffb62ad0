import { bodyOperations } from '../support/body-operations';
import { parseScrape } from '../support/metrics';
import { TestService } from '../support/service';

const METRICS_TOKEN = 'metrics-token-0123456789-abcdefghij';
const size = 60_000;
/**
 * Processor time of a few dozen requests. They take a tenth of it, and an expression that takes
 * quadratic time for one of them takes more.
 */
const budgetSeconds = 1.5;

/** Families of texts on which backtracking expressions take quadratic or exponential time. */
const families: [family: string, text: string][] = [
  ['letters', `${'a'.repeat(size)}!`],
  ['dotted words', `${'a.'.repeat(size / 2)}@`],
  ['beginnings of addresses', 'a@'.repeat(size / 2)],
  ['host labels', `a@${'a-'.repeat(size / 2)}`],
  ['dots', `a@${'.'.repeat(size)}b`],
  ['spaces', `a${' '.repeat(size)}x`],
  ['tabs', `\t${'\t'.repeat(size)}x`],
  ['digits', `+${'1'.repeat(size)}x`],
  ['hyphens', `${'en-'.repeat(size / 3)}!`],
  ['slashes', `${'A/'.repeat(size / 2)}!`],
  ['address groups', `${'1.'.repeat(size / 2)}/`],
  ['colons', `${':'.repeat(size)}1/129`],
  ['wildcards', '%_'.repeat(size / 2)],
  ['backslashes', '\\'.repeat(size / 2)],
  ['quotes', '"'.repeat(size / 2)],
  ['marks', '\u0301'.repeat(size / 3)],
];

const parameters = [
  ...['q', 'cursor', 'per_page', 'order_by', 'name', 'email_like', 'first_name_in', 'role_in', 'created_at_gt', 'x'],
  ...['last_login_ip', 'last_login_ip_in', 'user_id', 'user_id_in', 'online', 'attributes.k'],
];

describe('texts that make regular expressions backtrack', () => {
  let service: TestService;
  let token: string;
  let user_id: string;
  beforeAll(async () => {
    service = await TestService.start({ METRICS_TOKEN });
    ({ token } = service.admin);
    ({ user_id } = await service.createUser());
  });
  afterAll(() => service.close());

  const processorSeconds = async () => {
    const { text } = await service.get('/metrics', { token: METRICS_TOKEN });
    return parseScrape(text).get('process_cpu_seconds_total') ?? NaN;
  };

  /** Expects requests to stay within the budget once in three rounds: other work counts, too. */
  async function expectCheap(requests: (() => Promise<{ status: number }>)[]): Promise<void> {
    const costs: number[] = [];
    do {
      const before = await processorSeconds();
      for (const request of requests) expect((await request()).status).toBeLessThan(500);
      costs.push((await processorSeconds()) - before);
    } while (costs.length < 3 && Math.min(...costs) > budgetSeconds);
    expect(Math.min(...costs)).toBeLessThan(budgetSeconds);
  }

  it.each(families)('take no long time in fields: %s (I15)', async (_family, text) => {
    const all = bodyOperations(user_id).flatMap(({ method, url, fields }) =>
      fields.map((field) => ({ method, url, ...field })),
    );
    const fields = all.filter(
      ({ name, type }, index) => type !== 'boolean' && all.findIndex((other) => other.name === name) === index,
    );
    expect(fields.length).toBeGreaterThan(20);
    await expectCheap(
      fields.map(({ method, url, name, type }) => () => {
        const value = type === 'array' ? [text] : type === 'object' ? { [text.slice(0, 100)]: text } : text;
        return service.send(method, url, { token, body: { [name]: value } });
      }),
    );
  });

  it.each(families)('take no long time in query parameters, paths and headers: %s (I15)', async (_family, text) => {
    const escaped = encodeURIComponent(text).slice(0, 48_000).replace(/%.?$/, '');
    const plain = text.replace(/[^\x20-\x7e]/g, ' ');
    const headers: [name: string, value: string][] = [
      ['authorization', `Bearer ${plain}`],
      ['authorization', `Bearer${' '.repeat(size)}${plain.slice(0, 9)} x`],
      ['x-auth-token', plain],
      ['x-request-id', plain],
      ['if-match', `"${plain}", ${plain.slice(0, 100)}`],
      ['content-type', `application/json${plain}`],
      ['content-type', `application/json;${' '.repeat(size)}charset=utf-8;`],
      ['accept', plain],
      ['user-agent', plain],
      ['forwarded', plain],
    ];
    await expectCheap([
      ...parameters.map((name) => () => service.get(`/user/list?count=none&${name}=${escaped}`, { token })),
      () => service.get(`/console/a${escaped}/`),
      ...headers.map(([name, value]) => () => {
        const authorization = `Bearer ${token}`;
        return service.patch(`/user/${user_id}`, { headers: { authorization, [name]: value }, body: '{}' });
      }),
    ]);
  });
});
