import * as argon2 from '@node-rs/argon2';
import { systemActor } from '../../../src/access/actor';
import { newId } from '../../../src/platform/random';
import { ImportRowsService } from '../../../src/users/transfer/import-rows.service';
import { mailedResetToken } from '../../support/links';
import { until } from '../../support/until';
import { password, type TestLogin, TestService } from '../../support/in-process';

const mockHashing = { allowed: Promise.resolve() };
// The real function, counted. A test can delay it by `mockHashing`.
jest.mock('@node-rs/argon2', () => {
  const real = jest.requireActual<typeof argon2>('@node-rs/argon2');
  return {
    ...real,
    hash: jest.fn(async (...parameters: Parameters<typeof real.hash>) =>
      mockHashing.allowed.then(() => real.hash(...parameters)),
    ),
  };
});
const hashes = jest.mocked(argon2.hash).mock.calls;

interface Answer {
  status: number;
  code: string | undefined;
  headers: Headers;
}

const share = 8;

describe('new passwords beside logins', () => {
  let service: TestService;
  let url: string;
  let names: string[];
  let attacker: TestLogin & { name: string; email: string };
  let colleague: TestLogin;
  let count = 0;

  beforeAll(async () => {
    service = await TestService.start();
    ({ url } = await service.listen());
    attacker = await service.loginAs({ roles: ['carrier_administrator'] });
    colleague = await service.loginAs({ roles: ['carrier_administrator'] });
    names = [];
    while (names.length < 15) names.push((await service.createUser()).name);
  });
  afterAll(() => service.close());

  const send = async (path: string, body: object, token?: string): Promise<Answer> => {
    const headers = new Headers({ 'content-type': 'application/json' });
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await response.text();
    const { code } = (text === '' ? {} : JSON.parse(text)) as { code?: string };
    return { status: response.status, code, headers: response.headers };
  };

  const create = (fields: object = {}, by: TestLogin = attacker): Promise<Answer> => {
    const name = `new-user-${++count}`;
    const body = { user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com`, password, ...fields };
    return send('/user/create', body, by.token);
  };

  const logIn = () => Promise.all(names.map((login) => send('/auth/login', { login, password })));
  const statusesOf = (answers: Answer[]) => answers.map(({ status }) => status);
  const codesOf = (answers: Answer[]) => new Set(answers.map(({ code }) => code));
  const all200 = () => names.map(() => 200);

  /** Sends 90 requests with new passwords, and calls `meanwhile` before the first hash ends. */
  const flood = async <T>(
    request: (index: number) => Promise<Answer>,
    meanwhile: () => Promise<T>,
  ): Promise<[Answer[], T]> => {
    let [refused, allow] = [0, () => {}];
    mockHashing.allowed = new Promise((resolve) => (allow = resolve));
    try {
      const requests = Array.from({ length: 90 }, async (_, index) => {
        const answer = await request(index);
        if (answer.status === 429) refused++;
        return answer;
      });
      await until(() => Promise.resolve(refused === 90 - share));
      const others = meanwhile();
      allow();
      return [await Promise.all(requests), await others];
    } finally {
      allow();
    }
  };

  it.each([
    ['names', 'user.name_taken', () => ({ name: attacker.name.toUpperCase() })],
    ['e-mail addresses', 'user.email_taken', () => ({ email: attacker.email.toUpperCase() })],
  ])(
    'lets 15 users log in during 90 parallel creates with taken %s, and hashes none of these passwords (L21)',
    async (_, code, taken) => {
      const before = hashes.length;
      const creates = Array.from({ length: 90 }, () => create(taken()));
      expect(statusesOf(await logIn())).toEqual(all200());
      const answers = await Promise.all(creates);
      expect([new Set(statusesOf(answers)), codesOf(answers)]).toEqual([new Set([409]), new Set([code])]);
      expect(hashes.length - before).toBe(0);
    },
  );

  it('lets 15 users log in and another actor create during 90 parallel creates with free names (L21)', async () => {
    const others = () => Promise.all([logIn(), create({}, colleague)]);
    const [answers, [logins, other]] = await flood(() => create(), others);
    expect([statusesOf(logins), other.status]).toEqual([all200(), 201]);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(90 - share);
    expect([new Set(statusesOf(refused)), codesOf(refused)]).toEqual([
      new Set([429]),
      new Set(['request.rate_limited']),
    ]);
    const { headers } = refused[0] as Answer;
    expect(['retry-after', 'ratelimit-policy', 'ratelimit'].map((name) => headers.get(name))).toEqual([
      '1',
      `"new-passwords";q=${share};qu="concurrent-requests"`,
      '"new-passwords";r=0;t=1',
    ]);
    expect((await create()).status).toBe(201);
  });

  it('lets 15 users log in during 90 parallel resets by one link (L21)', async () => {
    const token = await mailedResetToken(service, attacker.email);
    const reset = (index: number) => send(`/auth/reset/${token}`, { password: `new phrase number ${index}` });
    const [answers, logins] = await flood(reset, logIn);
    expect(statusesOf(logins)).toEqual(all200());
    const countOf = (wanted: number) => answers.filter(({ status }) => status === wanted).length;
    // The others wait for the lock of the user. On a busy machine, that wait may end with a 503.
    expect([countOf(204), countOf(404) + countOf(503), countOf(429)]).toEqual([1, share - 1, 90 - share]);
  });

  it('wraps no MD5 of a rejected or conflicting import row, and never stores a bare MD5 (L21)', async () => {
    const md5 = '0123456789abcdef0123456789abcdef';
    const row = (name: string, email: string, carrier = 'c1') => `carrier,${name},${email},${carrier},${md5}`;
    const rows = [
      row(attacker.name, 'free1@example.com'),
      row('free-2', attacker.email),
      row('free-3', 'free3@example.com', 'c 1'),
    ];
    const body = ['user_type,name,email,carrier_id,password_hash', ...rows, row('free-4', 'free4@example.com')].join(
      '\n',
    );
    const before = hashes.length;
    const answer = await service.post('/user/import', {
      token: service.admin.token,
      body,
      headers: { 'content-type': 'text/csv' },
    });
    expect(answer.body).toMatchObject({ changed: 1, skipped_count: 3 });
    expect(hashes.length - before).toBe(1);
    const stored = `select 1 from credentials where password_hash = $1`;
    expect(await service.rows(stored, [md5])).toEqual([]);
    // The name was taken when the hashes were wrapped, and is free when the users are created.
    const values = {
      user_type: 'carrier',
      name: 'free-5',
      email: 'free5@example.com',
      carrier_id: 'c1',
      password_hash: md5,
    };
    const options = { on_conflict: 'fail' as const, invite: false };
    const rowsService = service.app.get(ImportRowsService, { strict: false });
    const outcome = await rowsService.create(systemActor, [{ line: 2, size: 1, values }], new Map(), options, newId());
    expect(outcome).toMatchObject({ created: 0, failed: [{ line: 2, errors: [{ code: 'user.name_taken' }] }] });
    expect(await service.rows(stored, [md5])).toEqual([]);
  });

  it('reports a rejected password first, then a taken name, then a taken address', async () => {
    const [{ name, email }, fields] = [attacker, { token: service.admin.token }];
    const body = { user_type: 'carrier', carrier_id: 'c1', name, email, password };
    expect((await service.post('/user/create', { ...fields, body })).body.code).toBe('user.name_taken');
    const weak = await service.post('/user/create', { ...fields, body: { ...body, password: 'short' } });
    expect(weak.body.errors).toEqual([expect.objectContaining({ code: 'password.too_short' })]);
  });
});
