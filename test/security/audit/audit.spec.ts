import { endMailLimits, mailedResetToken, queueEmpty } from '../../support/links';
import { password, type TestAnswer, type TestLogin, type TestRequest, TestService } from '../../support/service';

const ip = '198.51.100.23';
const newPassword = 'staple battery horse correct 17';

/** The event type, actor, target and changes of an expected event. */
interface ExpectedEvent {
  event_type: string;
  actor: [type: string, id: string | null];
  target: [type: string, id: unknown];
  changes?: Record<string, unknown>;
}

interface Event {
  event_type: string;
  occurred_at: string;
  target_id: string | null;
  request_id: string | null;
}

describe('the audit log', () => {
  let service: TestService;
  let admin: TestLogin;
  let count = 0;

  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
  });
  afterAll(() => service.close());

  /** Sends a request and expects exactly these events, each with time, address and request id. */
  async function expectEvents(
    status: number,
    expected: ExpectedEvent[],
    method: string,
    url: string,
    request: TestRequest,
  ): Promise<TestAnswer> {
    const request_id = `act-${++count}`;
    const answer = await service.send(method, url, { ...request, ip, headers: { 'x-request-id': request_id } });
    expect([answer.status, answer.text]).toEqual([status, expect.anything()]);
    await queueEmpty(service);
    const { body } = await service.get('/audit/list?order_dir=asc&per_page=500', admin);
    const events = (body.items as Event[]).filter((event) => event.request_id === request_id);
    // Events of one transaction have no order.
    expect(sortBy(events, ({ event_type, target_id }) => `${event_type} ${target_id}`)).toEqual(
      sortBy(expected, ({ event_type, target: [, target_id] }) => `${event_type} ${String(target_id)}`).map(
        ({ event_type, actor: [actor_type, actor_id], target: [target_type, target_id], changes }) =>
          expect.objectContaining({
            ...{ event_type, actor_type, actor_id, target_type, target_id, ip, request_id },
            occurred_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
            changes: changes === undefined ? expect.any(Object) : expect.objectContaining(changes),
          }),
      ),
    );
    // Tolerates the clock of another machine, but not a local time, which differs by hours.
    for (const { occurred_at } of events) expect(Math.abs(Date.parse(occurred_at) - Date.now())).toBeLessThan(600_000);
    return answer;
  }

  const stranger: ExpectedEvent['actor'] = ['system', null];
  const byAdmin = (): ExpectedEvent['actor'] => ['user', admin.user_id];
  const login = (name: string, secret: string) => ({ body: { login: name, password: secret } });

  it('records a login, a wrong password and an unknown name, the name only as a keyed hash (O12)', async () => {
    const { name, user_id } = await service.createUser();
    const target: ExpectedEvent['target'] = ['login', user_id];
    const succeeded: ExpectedEvent = { event_type: 'login.succeeded', actor: ['user', user_id], target };
    await expectEvents(200, [succeeded], 'POST', '/auth/login', login(name, password));
    const failed: ExpectedEvent = { event_type: 'login.failed', actor: stranger, target };
    await expectEvents(401, [failed], 'POST', '/auth/login', login(name, 'wrong'));
    const changes = { login: { after: expect.stringMatching(/^[\w-]{43}$/) } };
    const unknown: ExpectedEvent = { event_type: 'login.failed', actor: stranger, target: ['login', null], changes };
    await expectEvents(401, [unknown], 'POST', '/auth/login', login('unknown', 'wrong'));
  });

  it('records an account lockout with the number of failures and its end (O12)', async () => {
    const { name, user_id } = await service.createUser();
    const failed: ExpectedEvent = { event_type: 'login.failed', actor: stranger, target: ['login', user_id] };
    for (let attempt = 1; attempt <= 4; attempt++)
      await expectEvents(401, [failed], 'POST', '/auth/login', login(name, 'wrong'));
    const changes = { failures: { after: 5 }, locked_until: { after: expect.any(String) } };
    const locked: ExpectedEvent = { ...failed, event_type: 'login.locked', changes };
    await expectEvents(401, [failed, locked], 'POST', '/auth/login', login(name, 'wrong'));
  });

  it('records a requested and a used reset, with the sessions that it ended (O12)', async () => {
    const user = await service.loginAs();
    const target: ExpectedEvent['target'] = ['user', user.user_id];
    const requested: ExpectedEvent = { event_type: 'password.reset_requested', actor: stranger, target };
    await expectEvents(202, [requested], 'POST', '/auth/reset_email', { body: { email: user.email } });
    await service.mailbox.take(user.email);
    await endMailLimits(service);
    const token = await mailedResetToken(service, user.email);
    const changes = { user_id: { before: user.user_id }, ended_reason: { after: 'password_changed' } };
    const ended: ExpectedEvent = {
      event_type: 'session.ended',
      actor: stranger,
      target: ['session', user.session_id],
      changes,
    };
    const reset: ExpectedEvent = { event_type: 'password.reset', actor: stranger, target };
    await expectEvents(204, [reset, ended], 'POST', `/auth/reset/${token}`, { body: { password: newPassword } });
  });

  it('records a changed password, a wrong current password and a changed e-mail address (O12)', async () => {
    const { token, user_id, email } = await service.loginAs();
    const actor: ExpectedEvent['actor'] = ['user', user_id];
    const target: ExpectedEvent['target'] = ['user', user_id];
    const wrong = { token, body: { current_password: 'wrong', new_password: newPassword } };
    await expectEvents(
      400,
      [{ event_type: 'login.failed', actor, target: ['login', user_id] }],
      'POST',
      '/auth/password',
      wrong,
    );
    const right = { token, body: { current_password: password, new_password: newPassword } };
    await expectEvents(204, [{ event_type: 'password.changed', actor, target }], 'POST', '/auth/password', right);
    const next = `new-${email}`;
    const proposed: ExpectedEvent = {
      event_type: 'user.changed',
      actor,
      target,
      changes: { email_pending: { before: null, after: next } },
    };
    const proposal = { token, body: { email: next, current_password: newPassword } };
    await expectEvents(202, [proposed], 'POST', '/auth/email', proposal);
    const { token: link } = await service.mailbox.take(next);
    const changes = { email: { before: email, after: next } };
    const confirmed: ExpectedEvent = { event_type: 'user.email_confirmed', actor: stranger, target, changes };
    await expectEvents(204, [confirmed], 'POST', `/auth/email/${link}`, {});
  });

  it('records a created user, a changed role and a deleted user with the sessions (O12)', async () => {
    const { token } = admin;
    const body = {
      user_type: 'carrier',
      carrier_id: 'c5',
      name: 'hired',
      email: 'hired@example.com',
      password,
      must_change_password: false,
    };
    const values = { name: { after: 'hired' }, roles: { after: [] } };
    const created: ExpectedEvent = {
      event_type: 'user.created',
      actor: byAdmin(),
      target: ['user', expect.any(String)],
      changes: values,
    };
    const { user_id } = (await expectEvents(201, [created], 'POST', '/user/create', { token, body })).body;
    const target: ExpectedEvent['target'] = ['user', user_id];
    const changes = { roles: { before: [], after: ['carrier_administrator'] } };
    const promoted: ExpectedEvent = { event_type: 'user.changed', actor: byAdmin(), target, changes };
    await expectEvents(200, [promoted], 'PATCH', `/user/${user_id}`, {
      token,
      body: { roles: ['carrier_administrator'] },
    });
    const { session_id } = await service.login('hired');
    const ended = { user_id: { before: user_id }, ended_reason: { after: 'user_deleted' } };
    const deleted: ExpectedEvent[] = [
      { event_type: 'user.deleted', actor: byAdmin(), target },
      { event_type: 'session.ended', actor: byAdmin(), target: ['session', session_id], changes: ended },
    ];
    await expectEvents(204, deleted, 'DELETE', `/user/${user_id}`, { token });
  });

  it.each([
    ['PATCH', 'change', 'user.changed', { locale: 'de' }],
    ['DELETE', 'delete', 'user.deleted', undefined],
  ])(
    'records %s /user/all with its count, its filter fields and each user (O12)',
    async (method, kind, event_type, body) => {
      const carrier_id = `bulk-${kind}`;
      const users = [await service.createUser({ carrier_id }), await service.createUser({ carrier_id })];
      const asked = { kind: { after: kind }, matched: { after: 2 }, filters: { after: ['carrier_id'] } };
      const operation: ExpectedEvent = {
        event_type: 'operation.accepted',
        actor: byAdmin(),
        target: ['operation', expect.any(String)],
        changes: asked,
      };
      const each = users.map(({ user_id }): ExpectedEvent => ({
        event_type,
        actor: byAdmin(),
        target: ['user', user_id],
      }));
      await expectEvents(200, [operation, ...each], method, `/user/all?carrier_id=${carrier_id}`, {
        token: admin.token,
        body,
      });
    },
  );

  it('records a revoked session and a logout (O12)', async () => {
    const user = await service.loginAs();
    const ended = (actor: ExpectedEvent['actor'], session_id: string, reason: string): ExpectedEvent => ({
      event_type: 'session.ended',
      actor,
      target: ['session', session_id],
      changes: { user_id: { before: user.user_id }, ended_reason: { after: reason } },
    });
    const revoked = ended(byAdmin(), user.session_id, 'revoked');
    await expectEvents(204, [revoked], 'DELETE', `/auth/session/${user.session_id}`, { token: admin.token });
    const { token, session_id } = await service.login(user.name);
    await expectEvents(204, [ended(['user', user.user_id], session_id, 'logout')], 'POST', '/auth/logout', { token });
  });

  it('records the reuse of a refresh token (O12)', async () => {
    const { user_id, session_id, refresh_token } = await service.loginAs();
    const refresh = (token: string) => service.post('/auth/check-token', { body: { refresh_token: token } });
    await refresh((await refresh(refresh_token)).body.refresh_token);
    const changes = { user_id: { before: user_id } };
    const reused: ExpectedEvent = {
      event_type: 'session.token_reused',
      actor: stranger,
      target: ['session', session_id],
      changes,
    };
    await expectEvents(401, [reused], 'POST', '/auth/check-token', { body: { refresh_token } });
  });

  it('records no event for a denied request, so that denied requests cannot fill the table (O12)', async () => {
    const { token } = await service.loginAs();
    await expectEvents(403, [], 'GET', '/audit/list', { token });
  });
});

function sortBy<Item>(items: Item[], key: (item: Item) => string): Item[] {
  return [...items].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
