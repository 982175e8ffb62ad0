import { randomBytes } from 'node:crypto';
import { Cluster } from '../../support/cluster';
import { createKey, inSeconds, type TestKey } from '../../support/keys';
import { until } from '../../support/until';
import { addManyUsers, ended } from '../../support/many-users';
import { type TestLogin, TestService } from '../../support/service';
import { visiblePart } from '../../support/tokens';

const batch = 5_000;

jest.setTimeout(120_000);

describe('the end of an API key', () => {
  let service: TestService;
  let admin: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
  });
  afterAll(() => service.close());

  it('rejects a revoked or expired key on the next request, with the same response (S7)', async () => {
    const [revoked, expired, live] = [
      await createKey(service, ['*']),
      await createKey(service, ['*']),
      await createKey(service, ['*']),
    ];
    for (const { key } of [revoked, expired, live])
      expect((await service.get('/user/list', { token: key })).status).toBe(200);
    await service.delete(`/auth/key/${revoked.key_id}`, admin);
    await service.rows('update keys set expires_at = now() where key_id = $1', [expired.key_id]);
    const garbage = visiblePart(
      await service.get('/user/list', { token: `cik_${randomBytes(32).toString('base64url')}`, ip: '192.0.2.1' }),
    );
    for (const { key } of [revoked, expired])
      expect(visiblePart(await service.get('/user/list', { token: key, ip: '192.0.2.1' }))).toEqual(garbage);
    expect((await service.get('/user/list', { token: live.key })).status).toBe(200);
    // An expired key can be revoked and still does not work.
    expect((await service.delete(`/auth/key/${expired.key_id}`, admin)).status).toBe(204);
  });

  it('rejects a key that expires while it is cached in memory, without a notification (S7, S16)', async () => {
    const { key } = await createKey(service, ['user:read'], { expires_at: inSeconds(2) });
    const use = async () => (await service.get('/user/list?count=none', { token: key })).status;
    expect(await use()).toBe(200);
    await until(async () => (await use()) === 401, 10_000);
  });

  it.each([
    ['revoked', 'Europe/Oslo', ({ key_id }: TestKey) => service.delete(`/auth/key/${key_id}`, admin)],
    [
      'expired',
      'Europe/Rome',
      ({ key_id }: TestKey) => service.rows('update keys set expires_at = now() where key_id = $1', [key_id]),
    ],
  ])('starts no further batch of an operation whose key is %s (S7, Z16)', async (state, timezone, end) => {
    const carrier = `big-${state}`;
    await addManyUsers(service, 10_002, carrier);
    const made = await createKey(service, ['user:update']);
    const ids = (
      await service.rows<{ user_id: string }>('select user_id from users where carrier_id = $1 order by user_id', [
        carrier,
      ])
    ).map((row) => row.user_id);
    const holder = await service.sql.connect();
    try {
      await holder.query('begin');
      await holder.query('select 1 from users where user_id = $1 for update', [ids[0]]);
      const { status, body } = await service.patch(`/user/all?carrier_id=${carrier}`, {
        token: made.key,
        body: { timezone },
      });
      expect(status).toBe(202);
      // The first batch has checked the key and waits for the row.
      const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await until(async () => (await service.rows(waits)).length > 0);
      await end(made);
      await holder.query('rollback');
      expect(await ended(service, body.operation_id)).toMatchObject({
        status: 'failed',
        error_code: 'access.denied',
        changed: batch,
      });
      const changed = await service.rows<{ user_id: string }>(
        'select user_id from users where timezone = $1 order by user_id',
        [timezone],
      );
      expect(changed.map(({ user_id }) => user_id)).toEqual(ids.slice(0, batch));
    } finally {
      holder.release(true);
    }
  });

  it('rejects a key on another instance once the notification of its revocation arrives (S7, S16)', async () => {
    const cluster = await Cluster.create();
    try {
      const [one, two] = [await cluster.start(), await cluster.start()];
      const token = await cluster.login(one);
      const wrong: string[] = [];
      for (let round = 0; round < 15; round++) {
        const body = { name: 'machine', permissions: ['user:read'], expires_at: inSeconds(60) };
        const { key, key_id } = (await one.send('POST', '/auth/key/create', { token, body })).body as TestKey;
        const use = async () => (await two.send('GET', '/user/list?count=none', { token: key })).status;
        const before = await use();
        const { status } = await one.send('DELETE', `/auth/key/${key_id}`, { token });
        // The notification takes milliseconds, at most a second.
        await until(async () => (await use()) === 401, 1_000).catch(() => undefined);
        const after = await use();
        if (before !== 200 || status !== 204 || after !== 401) wrong.push(`${round}: ${before} ${status} ${after}`);
      }
      expect(wrong).toEqual([]);
    } finally {
      await cluster.close();
    }
  });
});
