import { inSeconds } from '../support/data/keys';
import { password, type TestLogin, TestService } from '../support/service';
import { until } from '../support/until';

interface Network {
  network: string;
  refused: number;
  logins_tried: number;
  blocked_until?: string;
}

describe('the attacks of the last 24 hours', () => {
  let service: TestService;
  let carrier: TestLogin;
  const users: { user_id: string; name: string }[] = [];
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(`insert into roles (name, user_types, permissions) values
      ('watcher', '{system,carrier}', '{audit:read}'), ('guard', '{system,carrier}', '{user:read,audit:read}')`);
    for (const carrier_id of ['c1', 'c1', 'c2']) users.push(await service.createUser({ carrier_id }));
    carrier = await service.loginAs({ carrier_id: 'c1', roles: ['watcher'] });
    const fail = (login: string, ip: string) =>
      service.post('/auth/login', { body: { login, password: `${password}!` }, ip });
    const [first, second, other] = users.map(({ name }) => name) as [string, string, string];
    for (const ip of ['198.51.100.1', '198.51.100.250']) for (const login of [first, second]) await fail(login, ip);
    for (const login of ['missing-1', 'missing-2', other]) await fail(login, '198.51.100.9');
    for (const ip of ['2001:db8:1:2::1', '2001:db8:1:2:ffff::1', '2001:db8:1:3::1']) await fail(first, ip);
    await addFailures(`timestamptz 'now' - interval '25 hours'`, 50);
  });
  afterAll(() => service.close());

  /** Adds rejected logins of unknown users to the audit log. */
  const addFailures = (at: string, count: number) =>
    service.rows(
      `insert into events (event_type, occurred_at, actor_type, target_type, ip)
      select 'login.failed', ${at}, 'system', 'login', '203.0.113.7' from generate_series(1, $1)`,
      [count],
    );
  const read = async (login: Pick<TestLogin, 'token'>) => {
    const { status, body } = await service.get('/stats/attacks', login);
    expect(status).toBe(200);
    return body as { networks: Network[]; users: Record<string, unknown>[] } & Record<string, unknown>;
  };

  it('counts networks and users, and names the end of a block of the whole network', async () => {
    const block = (network: string) =>
      service.post('/address-block/create', {
        token: service.admin.token,
        body: { network, expires_at: inSeconds(60) },
      });
    await block('198.51.100.250');
    expect(JSON.stringify(await read(service.admin))).not.toContain('blocked_until');
    const { body: blocked } = await block('2001:db8:1::/48');
    const attacks = await read(service.admin);
    const [v4, v6, last, ...others] = attacks.networks;
    expect(v4).toMatchObject({ network: '198.51.100.0/24', refused: 7, logins_tried: 5 });
    expect(v4).not.toHaveProperty('blocked_until');
    const until = { blocked_until: blocked.expires_at as string };
    expect(v6).toMatchObject({ network: '2001:db8:1:2::/64', refused: 2, logins_tried: 1, ...until });
    expect(last).toMatchObject({ network: '2001:db8:1:3::/64', refused: 1, logins_tried: 1, ...until });
    expect(others).toEqual([]);
    const [first, second, other] = users.map(({ user_id, name }) => ({ user_id, name }));
    expect(attacks.users).toEqual([
      expect.objectContaining({ ...first, refused: 5, networks: 3 }),
      expect.objectContaining({ ...second, refused: 2, networks: 1 }),
      expect.objectContaining({ ...other, refused: 1, networks: 1 }),
    ]);
    expect(attacks).toMatchObject({ refused_last_hour: 10, usual_for_the_hour: 0 });
  });

  it('shows a caller with a scope only the rejected logins of users within the scope, and no blocks (Z4)', async () => {
    const scope = { user_type: 'system', roles: ['watcher'], carrier_scope: ['c1'] };
    for (const login of [carrier, await service.loginAs(scope)]) {
      const attacks = await read(login);
      expect(attacks.networks.map(({ network, refused, logins_tried }) => [network, refused, logins_tried])).toEqual([
        ['198.51.100.0/24', 4, 2],
        ['2001:db8:1:2::/64', 2, 1],
        ['2001:db8:1:3::/64', 1, 1],
      ]);
      expect(JSON.stringify(attacks)).not.toContain('blocked_until');
      expect(attacks.users.map(({ name }) => name)).toEqual(users.slice(0, 2).map(({ name }) => name));
      expect(attacks).toMatchObject({ refused_last_hour: 7, usual_for_the_hour: 0 });
    }
    const elsewhere = await service.loginAs({ carrier_id: 'c9', roles: ['watcher'] });
    expect(await read(elsewhere)).toEqual({ networks: [], users: [], refused_last_hour: 0, usual_for_the_hour: 0 });
  });

  it('compares the last hour with the median of this hour, and warns of an attack on the overview', async () => {
    const warning = async (login: TestLogin) => {
      const { body } = await service.get('/stats/overview', login);
      return (body.attention as { kind: string }[]).find(({ kind }) => kind === 'attack');
    };
    const figures = { list: '/stats/attacks', filter: {} };
    const guard = await service.loginAs({ carrier_id: 'c1', roles: ['guard'] });
    await addFailures(`now() - interval '59 minutes'`, 21);
    expect(await warning(service.admin)).toEqual({ kind: 'attack', count: 31, ...figures });
    expect(await warning(guard)).toEqual({ kind: 'attack', count: 0, ...figures });
    const reader = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    await service.rows(
      `update roles set permissions = array_remove(permissions, 'audit:read') where name = 'operator'`,
    );
    expect(await warning(reader)).toBeUndefined();
    // Usual: 10 an hour. One day had an attack, two days had nothing. The hour may pass.
    await service.rows(`
      insert into login_counts (hour, carrier_id, succeeded, failed)
      select
        date_trunc('hour', now() - interval '30 minutes', 'UTC') + (later - 24 * day) * interval '1 hour', '', 1, failed
      from generate_series(0, 1) later,
        unnest('{9,500,10,0,11,12,0}'::integer[]) with ordinality as days (failed, day)`);
    const before = await read(service.admin);
    expect(before).toMatchObject({ refused_last_hour: 10, usual_for_the_hour: 0 });
    expect(await warning(service.admin)).toEqual({ kind: 'attack', count: 31, ...figures });
    await service.rows(`update login_counts set failed = failed + 1 where failed = 10`);
    expect(await warning(service.admin)).toEqual({ kind: 'attack', count: 0, ...figures });
    // The first result is at most 10 seconds old.
    await until(async () => (await read(service.admin)).refused_last_hour !== 10);
    expect(await read(service.admin)).toMatchObject({ refused_last_hour: 31, usual_for_the_hour: 11 });
  });
});
