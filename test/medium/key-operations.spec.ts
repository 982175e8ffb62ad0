import { createKey } from '../support/keys';
import { addManyUsers, ended } from '../support/many-users';
import { type TestLogin, TestService } from '../support/service';

jest.setTimeout(120_000);

describe('API keys as actors', () => {
  let service: TestService;
  let admin: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
  });
  afterAll(() => service.close());

  it('names the key in the users that it creates, the sessions that it ends, and the audit log', async () => {
    const { key_id, key } = await createKey(service, ['*']);
    const victim = await service.loginAs();
    const name = `by-key-${Date.now()}`;
    const user = {
      user_type: 'carrier',
      carrier_id: 'c1',
      name,
      email: `${name}@example.com`,
      roles: ['carrier_administrator'],
    };
    const create = () =>
      service.post('/user/create', { token: key, body: user, headers: { 'idempotency-key': 'once' } });
    const [created, again] = [await create(), await create()];
    expect([created.status, created.body.created_by]).toEqual([201, key_id]);
    expect(again.body).toEqual(created.body);
    // The same Idempotency-Key of another actor is a different key.
    expect(
      (await service.post('/user/create', { token: admin.token, body: user, headers: { 'idempotency-key': 'once' } }))
        .status,
    ).toBe(409);
    await service.patch(`/user/${victim.user_id}`, { token: key, body: { status: 'disabled' } });
    const sessions = await service.get(`/auth/session/list?user_id=${victim.user_id}`, { token: key });
    expect(sessions.body.items).toMatchObject([
      { session_id: victim.session_id, current: false, ended_reason: 'user_disabled', ended_by: key_id },
    ]);
    const audit = await service.get(`/audit/list?actor_type=key&actor_id=${key_id}&order_dir=asc`, { token: key });
    const seen = (audit.body.items as { event_type: string; actor_type: string; session_id: null }[]).map(
      (event) => event.event_type,
    );
    expect(new Set(seen)).toEqual(new Set(['user.created', 'user.changed', 'session.ended']));
    expect(new Set((audit.body.items as { session_id: null }[]).map(({ session_id }) => session_id))).toEqual(
      new Set([null]),
    );
  });

  it('ends the sessions that a filter matches, but none of users whose role the key may not grant', async () => {
    const { key_id, key } = await createKey(service, ['session:revoke']);
    const victim = await service.loginAs();
    const other = await service.login(victim.name);
    const end = async (query = '') => (await service.delete(`/auth/session/all${query}`, { token: key })).body;
    expect(await end()).toEqual({ ended: 0 });
    expect(await end(`?user_id=${admin.user_id}`)).toEqual({ ended: 0 });
    const one = await service.delete(`/auth/session/${admin.session_id}`, { token: key });
    expect([one.status, one.body.code]).toEqual([403, 'access.protected_user']);
    for (const { token } of [victim, other, admin]) expect((await service.get('/user', { token })).status).toBe(200);
    expect(await end(`?user_id=${victim.user_id}`)).toEqual({ ended: 2 });
    const { body } = await service.get(`/auth/session/list?user_id=${victim.user_id}`, admin);
    expect(body.items).toMatchObject(Array(2).fill({ active: false, ended_reason: 'revoked', ended_by: key_id }));
    expect((await service.get('/user', admin)).status).toBe(200);
  });

  it('lets a key start, follow, cancel and undo operations, and keeps cursors private', async () => {
    await addManyUsers(service, 10_001, 'many');
    const { key_id, key } = await createKey(service, ['user:update', 'user:read']);
    const { status, body } = await service.patch('/user/all?carrier_id=many', {
      token: key,
      body: { timezone: 'Europe/Oslo' },
    });
    expect([status, body.actor_type, body.actor_id]).toEqual([202, 'key', key_id]);
    expect(await ended(service, body.operation_id, key)).toMatchObject({ status: 'done', changed: 10_001 });
    const canceled = await service.post(`/user/operation/${body.operation_id}/cancel`, { token: key });
    expect([canceled.status, canceled.body.status]).toEqual([202, 'done']);
    const undone = await service.post(`/user/operation/${body.operation_id}/undo`, { token: key });
    expect(undone.status).toBe(202);
    expect(await ended(service, undone.body.operation_id, key)).toMatchObject({
      status: 'done',
      changed: 10_001,
      actor_id: key_id,
    });
    const list = await service.get(`/user/operation/list?actor_type=key&actor_id=${key_id}`, { token: key });
    expect(list.body.items).toHaveLength(2);
    const [row] = await service.rows<{ count: string }>(
      `select count(*) from events where actor_id = $1 and actor_type = 'key'`,
      [key_id],
    );
    expect(Number(row?.count)).toBe(2 * 10_001 + 2);
    const { next_cursor } = (await service.get('/user/list?per_page=2&count=none', { token: key })).body as {
      next_cursor: string;
    };
    const follow = (token: string) =>
      service.get(`/user/list?per_page=2&count=none&cursor=${encodeURIComponent(next_cursor)}`, { token });
    expect((await follow(key)).status).toBe(200);
    expect((await follow((await createKey(service, ['user:read'])).key)).body.code).toBe('page.cursor_invalid');
    // Only the key that requested a preview can confirm it.
    const change = (query: string, token: string) =>
      service.patch(`/user/all?name=many-1${query}`, { token, body: { locale: 'de' } });
    const { confirm_token } = (await change('&dry_run=true', key)).body as { confirm_token: string };
    expect((await change(`&confirm_token=${encodeURIComponent(confirm_token)}`, admin.token)).status).not.toBe(200);
    expect((await change(`&confirm_token=${encodeURIComponent(confirm_token)}`, key)).body.changed).toBe(1);
  });

  it('imports users and continues after the request', async () => {
    const { key_id, key } = await createKey(service, ['user:import', 'user:read']);
    const lines = Array.from({ length: 1_200 }, (_, index) => `carrier,imported,im-${index},im-${index}@example.com`);
    const body = `user_type,carrier_id,name,email\n${lines.join('\n')}`;
    const answer = await service.post('/user/import', { token: key, body, headers: { 'content-type': 'text/csv' } });
    expect(answer.status).toBeLessThan(300);
    if (answer.status === 202) await ended(service, answer.body.operation_id, key);
    const [row] = await service.rows<{ count: string }>(
      `select count(*) from users where carrier_id = 'imported' and created_by = $1`,
      [key_id],
    );
    expect(row?.count).toBe('1200');
  });
});
