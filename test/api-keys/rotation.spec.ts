import { createKey, inSeconds, type TestKey } from '../support/data/keys';
import { ServiceProcess } from '../support/process/service-process';
import { codeOf, type TestLogin, TestService } from '../support/service';
import { changeSession } from '../support/data/session-rows';
import { until } from '../support/until';

const day = 86_400;

describe('the rotation of an API key', () => {
  let service: TestService;
  let there: ServiceProcess;
  let admin: TestLogin;
  beforeAll(async () => {
    service = await TestService.start({ REQUESTS_PER_ADDRESS_PER_MINUTE: '10000' });
    ({ admin } = service);
    there = await ServiceProcess.beside(service, { REQUESTS_PER_ADDRESS_PER_MINUTE: '10000' });
    await service.rows(`
      insert into roles (name, user_types, permissions)
      values ('key_maker', '{system,carrier}', '{user:read,key:manage}')`);
  });
  afterAll(async () => {
    await there.kill();
    await service.close();
  });

  const send = ({ key_id }: Pick<TestKey, 'key_id'>, body: object, by: Pick<TestLogin, 'token'> = admin) =>
    service.post(`/auth/key/${key_id}/rotate`, { token: by.token, body });
  const rotate = async (key: Pick<TestKey, 'key_id'>, keep_old_seconds: number, fields: object = {}) => {
    const answer = await send(key, { keep_old_seconds, ...fields });
    expect(answer.status).toBe(200);
    return answer.body as TestKey & Record<string, unknown>;
  };
  const listUsers = '/user/list?count=none';
  const use = async (key: string) => (await service.get(listUsers, { token: key })).status;
  const useThere = async (key: string) => (await there.get(listUsers, { token: key })).status;
  const shown = async ({ key_id }: Pick<TestKey, 'key_id'>) =>
    (await service.get(`/auth/key/list?key_id=${key_id}`, admin)).body.items[0];
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const introspect = async (key: string) =>
    (await service.post('/auth/introspect', { token: admin.token, headers: form, body: `token=${key}` })).body;

  it('returns a new secret of the same key, keeps the old one as requested, and records the event', async () => {
    const old = await createKey(service, ['user:read'], { name: 'billing' });
    const before = await shown(old);
    const { key, ...rest } = await rotate(old, day);
    expect(key).toMatch(/^cik_[A-Za-z0-9_-]{43}$/);
    expect(key).not.toBe(old.key);
    const previous_until = expect.stringMatching(/Z$/);
    expect(rest).toEqual({ ...before, previous_until });
    expect([await use(old.key), await use(key)]).toEqual([200, 200]);
    const { body } = await service.get(`/audit/list?target_id=${old.key_id}&event_type=key.rotated`, admin);
    const changes = { name: { after: 'billing' }, previous_until: { after: rest['previous_until'] } };
    expect(body.items).toMatchObject([{ actor_id: admin.user_id, target_type: 'key', changes }]);
    expect(JSON.stringify([body, await shown(old)])).not.toMatch(/cik_|token_hash|previous_hash|rotated_by/);
  });

  it('shows when the old secret was last used, apart from uses of the new one', async () => {
    const old = await createKey(service, ['user:read']);
    expect(await use(old.key)).toBe(200);
    await until(async () => (await shown(old)).last_used_at !== null);
    const { key } = await rotate(old, day);
    await service.rows(`update keys set last_used_at = now() - interval '1 day' where key_id = $1`, [old.key_id]);
    const { last_used_at } = await shown(old);
    expect(await use(key)).toBe(200);
    await until(async () => (await shown(old)).last_used_at !== last_used_at);
    expect(await shown(old)).toMatchObject({ previous_last_used_at: null });
    expect(await use(old.key)).toBe(200);
    await until(async () => (await shown(old)).previous_last_used_at !== null);
    // A further rotation resets the last use: the second secret was not used since.
    expect(await rotate(old, day)).toMatchObject({ previous_last_used_at: null });
  });

  it('expires the old secret on all instances that cached it (J40, S16)', async () => {
    const old = await createKey(service, ['user:read']);
    const { key } = await rotate(old, day);
    const soon = `update keys set previous_until = now() + interval '2 s' where key_id = $1`;
    // Repeated if the machine is so slow that the secret expires before both instances cache it.
    await until(async () => {
      await service.rows(soon, [old.key_id]);
      return (await use(old.key)) === 200 && (await useThere(old.key)) === 200;
    });
    // A key stays in memory for up to a minute, but not longer than its secret works.
    await until(async () => (await use(old.key)) === 401 && (await useThere(old.key)) === 401, 30_000);
    expect([await use(key), await useThere(key)]).toEqual([200, 200]);
    expect(await shown(old)).toMatchObject({ previous_until: null, previous_last_used_at: null });
    expect(await introspect(old.key)).toEqual({ active: false });
  });

  it('ends the old secret immediately if it is not kept, also on other instances (J40, S16)', async () => {
    const old = await createKey(service, ['user:read']);
    expect([await use(old.key), await useThere(old.key)]).toEqual([200, 200]);
    const { key, previous_until } = await rotate(old, 0);
    expect([await use(old.key), previous_until]).toEqual([401, null]);
    await until(async () => (await useThere(old.key)) === 401, 30_000);
    expect(await useThere(key)).toBe(200);
  });

  it('ends the oldest secret at the second rotation, however long it was kept (J40)', async () => {
    const first = await createKey(service, ['user:read']);
    const second = await rotate(first, 7 * day);
    expect([await use(first.key), await useThere(first.key)]).toEqual([200, 200]);
    const third = await rotate(first, 7 * day);
    expect([await use(first.key), await use(second.key), await use(third.key)]).toEqual([401, 200, 200]);
    await until(async () => (await useThere(first.key)) === 401, 30_000);
  });

  it('ends both secrets when the key is revoked (J40, S7)', async () => {
    const old = await createKey(service, ['user:read']);
    const { key } = await rotate(old, day);
    expect([await use(old.key), await use(key)]).toEqual([200, 200]);
    expect((await service.delete(`/auth/key/${old.key_id}`, admin)).status).toBe(204);
    expect([await use(old.key), await use(key)]).toEqual([401, 401]);
  });

  it('never extends the life of the old secret beyond the old expiry of the key (J40)', async () => {
    const expires_at = inSeconds(3_600);
    const old = await createKey(service, ['user:read'], { expires_at });
    const later = inSeconds(30 * day);
    const { key, ...rotated } = await rotate(old, 7 * day, { expires_at: later });
    expect(rotated).toMatchObject({ expires_at: later, previous_until: expires_at });
    // A module that caches the result of an introspection forgets the old secret in time.
    const seconds = (time: string) => Math.floor(Date.parse(time) / 1_000);
    expect([(await introspect(old.key)).exp, (await introspect(key)).exp]).toEqual([
      seconds(expires_at),
      seconds(later),
    ]);
  });

  it('rejects the rotation of a revoked, suspended or expired key (J40, S7)', async () => {
    const keys = [await createKey(service, ['user:read']), await createKey(service, ['user:read'])] as const;
    const expired = await createKey(service, ['user:read']);
    await service.delete(`/auth/key/${keys[0].key_id}`, admin);
    await service.rows('update keys set suspended_at = now() where key_id = $1', [keys[1].key_id]);
    await service.rows('update keys set expires_at = now() where key_id = $1', [expired.key_id]);
    for (const key of [...keys, expired])
      for (const fields of [{}, { expires_at: inSeconds(day) }]) {
        expect(codeOf(await send(key, { keep_old_seconds: day, ...fields }))).toBe('409 key.inactive');
        expect(await use(key.key)).toBe(401);
      }
  });

  it('requires the permissions and the scope of the key, because its secret grants them (Z10, Z11)', async () => {
    const maker = await service.loginAs({ user_type: 'system', roles: ['key_maker'] });
    const root = await createKey(service, ['*']);
    expect(codeOf(await send(root, { keep_old_seconds: 0 }, maker))).toBe('403 access.grant_exceeds_own');
    const wide = await createKey(service, ['user:read'], {}, maker);
    await service.rows(`update users set carrier_scope = '{c1}' where user_id = $1`, [maker.user_id]);
    expect(codeOf(await send(wide, { keep_old_seconds: 0 }, maker))).toBe('403 access.grant_exceeds_own');
    expect(codeOf(await send(root, { keep_old_seconds: 0 }, maker))).toBe('404 key.not_found');
    const carrier = await service.loginAs({ carrier_id: 'c9', roles: ['key_maker'] });
    expect(codeOf(await send(wide, { keep_old_seconds: 0 }, carrier))).toBe('404 key.not_found');
    expect([await use(root.key), await use(wide.key)]).toEqual([200, 200]);
  });

  it('requires a fresh login of a user, not an API key (S24, Z2)', async () => {
    const { key, key_id } = await createKey(service, ['*']);
    expect(codeOf(await send({ key_id }, { keep_old_seconds: 0 }, { token: key }))).toBe('403 access.denied');
    const stale = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    await changeSession(service, stale, `auth_time = auth_time - interval '1 day'`);
    expect((await send({ key_id }, { keep_old_seconds: 0 }, stale)).body.code).toBe('auth.reauthentication_required');
    expect(await use(key)).toBe(200);
  });

  it('names an invalid field in the error, and changes nothing', async () => {
    const old = await createKey(service, ['user:read']);
    const rotated = 'select token_hash from keys where key_id = $1';
    const before = await service.rows(rotated, [old.key_id]);
    for (const [body, pointer, wanted] of [
      [{}, '/keep_old_seconds', 'field.required'],
      [{ keep_old_seconds: -1 }, '/keep_old_seconds', 'field.not_allowed'],
      [{ keep_old_seconds: 604_801 }, '/keep_old_seconds', 'field.not_allowed'],
      [{ keep_old_seconds: 1.5 }, '/keep_old_seconds', 'field.wrong_type'],
      [{ keep_old_seconds: '60' }, '/keep_old_seconds', 'field.wrong_type'],
      [{ keep_old_seconds: 0, expires_at: inSeconds(-1) }, '/expires_at', 'field.not_allowed'],
      [{ keep_old_seconds: 0, expires_at: inSeconds(367 * day) }, '/expires_at', 'field.not_allowed'],
      [{ keep_old_seconds: 0, expires_at: null }, '/expires_at', 'field.wrong_type'],
      [{ keep_old_seconds: 0, name: 'other' }, '/name', 'field.unknown'],
    ] as const) {
      const { status, body: problem } = await send(old, body);
      const errors = (problem.errors as { pointer: string; code: string }[]).map((one) => [one.pointer, one.code]);
      expect([body, status, errors]).toEqual([body, 400, [[pointer, wanted]]]);
    }
    expect(await service.rows(rotated, [old.key_id])).toEqual(before);
  });

  it('suspends the key when the user who rotated it is secured (R40)', async () => {
    const thief = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const old = await createKey(service, ['user:read']);
    const answer = await send(old, { keep_old_seconds: day }, thief);
    expect(await use(answer.body.key)).toBe(200);
    const secure = (body: object) =>
      service.post(`/user/${thief.user_id}/secure`, { token: admin.token, body: { factors: 'keep', ...body } });
    expect((await secure({})).body.errors).toMatchObject([{ pointer: '/keys', code: 'field.required' }]);
    expect((await secure({ keys: 'suspend' })).status).toBe(200);
    expect([await use(answer.body.key), await use(old.key)]).toEqual([401, 401]);
  });

  it('suspends the key of a secured user whose secret is the old one since another rotation (R40)', async () => {
    const thief = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const made = await createKey(service, ['user:read']);
    const stolen = (await send(made, { keep_old_seconds: 0 }, thief)).body.key as string;
    const secure = (body: object) =>
      service.post(`/user/${thief.user_id}/secure`, { token: admin.token, body: { factors: 'keep', ...body } });
    const { key } = await rotate(made, day);
    expect([await use(stolen), await use(key)]).toEqual([200, 200]);
    expect((await secure({})).body.errors).toMatchObject([{ pointer: '/keys', code: 'field.required' }]);
    expect((await secure({ keys: 'suspend' })).status).toBe(200);
    expect([await use(stolen), await use(key)]).toEqual([401, 401]);
    const other = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const ended = await createKey(service, ['user:read']);
    await send(ended, { keep_old_seconds: 0 }, other);
    await rotate(ended, 0);
    expect((await service.post(`/user/${other.user_id}/secure`, { token: admin.token, body: {} })).status).toBe(200);
  });
});
