import { createApp } from '../../../src/app.setup';
import { password, type TestAnswer, TestService } from '../../support/service';
import { visiblePart } from '../../support/tokens';

const wrong = `${password}!`;
const elsewhere = '198.51.100.20';
const missingLogins = Array.from({ length: 24 }, (_, index) =>
  index % 2 === 0 ? `missing-${index}` : `missing-${index}@example.com`,
);

describe('the counter of known addresses', () => {
  let service: TestService;
  let count = 0;

  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const attempt = (login: string, ip: string, secret = wrong): Promise<TestAnswer> =>
    service.post('/auth/login', { body: { login, password: secret }, ip });

  /** Logs in from a new address, as a new user or the named one, and returns the address. */
  const knownAddress = async (name?: string): Promise<string> => {
    const ip = `192.0.2.${++count}`;
    expect((await attempt(name ?? (await service.createUser()).name, ip, password)).status).toBe(200);
    return ip;
  };

  /**
   * Uses up the failures at one address, then logs in from another.
   * The status 401 shows that the first address has a separate counter.
   */
  const probe = async (login: string, ip: string, other = elsewhere): Promise<TestAnswer> => {
    for (let failures = 0; failures < 5; failures++) expect((await attempt(login, ip)).status).toBe(401);
    expect((await attempt(login, ip)).status).toBe(429);
    return attempt(login, other);
  };

  const forget = () =>
    service.rows(`delete from login_attempts where account not in (select user_id::text from users)`);

  /** Returns the addresses at which a missing login has a separate counter. */
  const ownCounters = async (login: string, ips: string[]): Promise<string[]> => {
    await forget();
    for (const ip of ips) expect((await attempt(login, ip)).status).toBe(401);
    const counters = `
      select address
      from login_attempts
      where address <> '' and account not in (select user_id::text from users)`;
    return (await service.rows<{ address: string }>(counters)).map(({ address }) => address).sort();
  };

  it('locks a missing login like a user at a known address, or like a user at an unknown one (L20)', async () => {
    const ip = await knownAddress();
    const [home, away] = [await service.createUser(), await service.createUser()];
    expect((await attempt(home.name, ip, password)).status).toBe(200);
    const [known, unknown] = [await probe(home.name, ip), await probe(away.name, ip)];
    expect([known.status, unknown.status]).toEqual([401, 429]);
    const statuses: number[] = [];
    for (const login of missingLogins) statuses.push((await probe(login, ip)).status);
    expect(statuses).toEqual(expect.arrayContaining([known.status, unknown.status]));
    expect(statuses.every((status) => [known.status, unknown.status].includes(status))).toBe(true);
  });

  it('returns the headers of a locked user for a locked missing login, at either counter (L20)', async () => {
    const ip = await knownAddress();
    const [home, away] = [await service.createUser(), await service.createUser()];
    expect((await attempt(home.name, ip, password)).status).toBe(200);
    const shapeOf = async (login: string) => {
      const answers = [await probe(login, ip), await attempt(login, ip), await attempt(login, elsewhere)];
      return answers.map((answer) => {
        const { 'retry-after': wait, ratelimit, ...headers } = answer.headers;
        const seconds = wait === undefined ? null : Number(wait) > 0 && Number(wait) <= 30;
        return [
          visiblePart({ ...answer, headers }),
          seconds,
          ratelimit === undefined ? null : ratelimit === `"account";r=0;t=${String(wait)}`,
        ];
      });
    };
    const shapes = [await shapeOf(home.name), await shapeOf(away.name)].map((shape) => JSON.stringify(shape));
    expect(new Set(shapes).size).toBe(2);
    const seen = new Set<string>();
    for (const login of missingLogins) seen.add(JSON.stringify(await shapeOf(`shape-${login}`)));
    expect([...seen].sort()).toEqual(shapes.sort());
  });

  it('gives missing logins no separate counter where no user has logged in within 30 days (L20)', async () => {
    const [expired, live] = [await knownAddress(), await knownAddress()];
    await service.rows(`update login_attempts set known_until = now() - interval '1 second' where address = $1`, [
      expired,
    ]);
    const seen: string[] = [];
    for (const login of missingLogins) seen.push(...(await ownCounters(login, ['198.51.100.30', expired, live])));
    expect(new Set(seen)).toEqual(new Set([live]));
    // The counter of a missing login does not make an address known.
    await service.rows(`delete from login_attempts where address = $1 and known_until is not null`, [live]);
    for (const login of missingLogins) expect(await ownCounters(login, [live])).toEqual([]);
  });

  it('reveals no more at many addresses of one user than at one of them (L20)', async () => {
    const { name } = await service.createUser();
    const own = [
      await knownAddress(name),
      await knownAddress(name),
      await knownAddress(name),
      await knownAddress(name),
    ].sort();
    const patterns = new Set<string>();
    for (const login of missingLogins) patterns.add((await ownCounters(login, own)).join());
    expect(patterns).toEqual(new Set(['', own.join()]));
  });

  it('gives a missing login the same counters on another instance (L20)', async () => {
    const ip = await knownAddress();
    const here: string[][] = [];
    for (const login of missingLogins) here.push(await ownCounters(login, [ip]));
    expect(here).toEqual(expect.arrayContaining([[], [ip]]));
    await forget();
    const other = await createApp(service.config);
    try {
      for (const [index, login] of missingLogins.entries()) {
        const payload = { login: login.toUpperCase(), password: wrong };
        await other.inject({ method: 'POST', url: '/auth/login', payload, remoteAddress: ip });
        const counters = await service.rows<{ address: string }>(
          `delete from login_attempts where length(account) = 43 returning address`,
        );
        expect([login, counters]).toEqual([login, [{ address: here[index]?.[0] ?? '' }]]);
      }
    } finally {
      await other.close();
    }
  });
});
