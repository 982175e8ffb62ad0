import { password, TestService } from '../support/service';

describe('the main job, from invitation to end of session', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  it('invites a Carrier User, who sets a password by the mailed link, logs in and loses the session', async () => {
    const { admin } = service;
    const body = {
      user_type: 'carrier',
      name: 'ada',
      email: 'ada@example.com',
      carrier_id: 'c1',
      roles: ['carrier_user'],
      locale: 'de-AT',
    };
    const created = await service.post('/user/create', { token: admin.token, body });
    expect(created.status).toBe(201);
    expect(created.headers['location']).toBe(`/user/${created.body.user_id}`);
    expect(created.body).toMatchObject({ status: 'invited', must_change_password: false, version: 1 });

    const mail = await service.mailbox.take('ada@example.com');
    expect(mail.source).toContain('Einladung');
    expect((await service.get(`/auth/reset/${mail.token}`)).status).toBe(200);
    expect((await service.post(`/auth/reset/${mail.token}`, { body: { password } })).status).toBe(204);

    const ada = await service.login('ADA@example.com');
    const me = await service.get('/user', { token: ada.token });
    expect(me.body).toMatchObject({ name: 'ada', status: 'active', permissions: [], online: true });
    expect(me.body.email_verified_at).not.toBeNull();

    const sessions = await service.get(`/auth/session/list?user_id=${ada.user_id}&active=true`, { token: admin.token });
    expect(sessions.body.items).toHaveLength(1);
    expect((await service.delete(`/auth/session/${ada.session_id}`, { token: admin.token })).status).toBe(204);
    expect((await service.get('/user', { token: ada.token })).status).toBe(401);
    expect((await service.post('/auth/check-token', { body: { refresh_token: ada.refresh_token } })).status).toBe(401);
  });

  it('previews, changes and deletes the users that a filter matches', async () => {
    const { token } = service.admin;
    for (let index = 0; index < 3; index++) await service.createUser({ carrier_id: 'bulk', roles: ['carrier_user'] });
    const preview = await service.patch('/user/all?carrier_id=bulk&dry_run=true', {
      token,
      body: { status: 'disabled' },
    });
    expect(preview.body).toMatchObject({ matched: 3, would_change: 3, skipped_count: 0 });
    expect(preview.body.sample).toHaveLength(3);
    const changed = await service.patch('/user/all?carrier_id=bulk&expected=3', {
      token,
      body: { status: 'disabled' },
    });
    expect(changed.body).toMatchObject({ matched: 3, changed: 3, unchanged: 0, undo_until: expect.any(String) });
    const again = await service.patch('/user/all?carrier_id=bulk', { token, body: { status: 'disabled' } });
    expect(again.body).toMatchObject({ matched: 3, changed: 0, unchanged: 3 });
    const history = await service.get(`/audit/list?operation_id=${changed.body.operation_id}&event_type=user.changed`, {
      token,
    });
    expect(history.body.items).toHaveLength(3);
    expect(history.body.items[0]).toMatchObject({
      event_type: 'user.changed',
      changes: { status: { before: 'active', after: 'disabled' } },
    });
    const deleted = await service.delete('/user/all?carrier_id=bulk', { token });
    expect(deleted.body).toMatchObject({ matched: 3, changed: 3 });
    expect((await service.get('/user/list?carrier_id=bulk', { token })).body.items).toEqual([]);
    expect((await service.get('/user/list?carrier_id=bulk&deleted=true', { token })).body.items).toHaveLength(3);
  });

  it('checks, renews and refreshes tokens in the three documented ways', async () => {
    const user = await service.loginAs({ roles: ['carrier_administrator'] });
    const byHeader = await service.post('/auth/check-token', { token: user.token, body: {} });
    expect(byHeader.body).toMatchObject({
      active: true,
      refreshed: false,
      user: { user_id: user.user_id },
      session: { session_id: user.session_id, current: true },
    });
    expect(byHeader.body.permissions).toContain('user:create');
    const byBody = await service.post('/auth/check-token', { body: { token: user.token } });
    expect(byBody.body.access_token).toBeUndefined();
    const refreshed = await service.post('/auth/check-token', { body: { refresh_token: user.refresh_token } });
    expect(refreshed.body).toMatchObject({ refreshed: true, token_type: 'Bearer', expires_in: 600 });
    expect(refreshed.body.refresh_token).not.toBe(user.refresh_token);
    expect((await service.get('/user', { token: refreshed.body.access_token })).status).toBe(200);
  });
});
