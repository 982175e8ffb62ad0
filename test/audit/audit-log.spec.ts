import type { EventPartitions } from '../../src/audit/event-partitions.service';
import { document } from '../support/contract/document';
import { createKey } from '../support/data/keys';
import { endMailLimits, mailedResetToken, queueEmpty } from '../support/data/links';
import { inTransaction } from '../support/locks';
import { password, type TestAnswer, type TestLogin, type TestRequest, TestService } from '../support/service';

const newPassword = 'staple battery horse correct 17';
const appendOnly = 'events are append-only';

type Subject = [type: string, id: unknown];

/** An expected event: its type, actor, target and some of its changes. */
type ExpectedEvent = [event_type: string, actor: Subject, target: Subject, changes?: Record<string, unknown>];

interface Event {
  event_type: string;
  occurred_at: string;
  actor_type: string;
  actor_id: string | null;
  target_type: string | null;
  target_id: string | null;
  request_id: string | null;
}

describe('the audit log', () => {
  let service: TestService;
  let admin: TestLogin;
  beforeAll(async () => {
    service = await TestService.start({ AUDIT_DAYS: '0', DELETED_USER_DAYS: '0', OPERATION_DAYS: '0' });
    ({ admin } = service);
  });
  afterAll(() => service.close());

  describe('of changes', () => {
    const ip = '198.51.100.23';
    const stranger: Subject = ['system', null];
    const byAdmin = (): Subject => ['user', admin.user_id];
    let count = 0;

    /** Sends a request and expects exactly these events, each with time, address and request id. */
    async function expectEvents(
      status: number,
      expected: ExpectedEvent[],
      method: string,
      url: string,
      request: TestRequest = {},
    ): Promise<TestAnswer> {
      const request_id = `act-${++count}`;
      const answer = await service.send(method, url, { ...request, ip, headers: { 'x-request-id': request_id } });
      expect([answer.status, answer.text]).toEqual([status, expect.anything()]);
      await queueEmpty(service);
      const { body } = await service.get('/audit/list?order_dir=asc&per_page=500', admin);
      const events = (body.items as Event[]).filter((event) => event.request_id === request_id);
      // Events of one transaction have no order.
      const wanted = expected.map(([event_type, [actor_type, actor_id], [target_type, target_id], changes = {}]) => {
        const subjects = { actor_type, actor_id, target_type, target_id };
        return expect.objectContaining({ event_type, ...subjects, ip, changes: expect.objectContaining(changes) });
      });
      expect(events).toEqual(expect.arrayContaining(wanted));
      expect(events.map(({ event_type }) => event_type).sort()).toEqual(expected.map(([type]) => type).sort());
      for (const { occurred_at } of events) {
        expect(occurred_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        // Tolerates the clock of another machine, but not a local time, which differs by hours.
        expect(Math.abs(Date.parse(occurred_at) - Date.now())).toBeLessThan(600_000);
      }
      return answer;
    }

    const login = (name: string, secret: string) => ({ body: { login: name, password: secret } });

    it('records logins and failures, an unknown name only as a keyed hash, and an account lockout (O12)', async () => {
      const { name, user_id } = await service.createUser();
      const target: Subject = ['login', user_id];
      const succeeded: ExpectedEvent = ['login.succeeded', ['user', user_id], target];
      await expectEvents(200, [succeeded], 'POST', '/auth/login', login(name, password));
      const hash = { login: { after: expect.stringMatching(/^[\w-]{43}$/) } };
      const unknown: ExpectedEvent = ['login.failed', stranger, ['login', null], hash];
      await expectEvents(401, [unknown], 'POST', '/auth/login', login('unknown', 'wrong'));
      const failed: ExpectedEvent = ['login.failed', stranger, target];
      for (let attempt = 1; attempt <= 4; attempt++)
        await expectEvents(401, [failed], 'POST', '/auth/login', login(name, 'wrong'));
      const changes = { failures: { after: 5 }, locked_until: { after: expect.any(String) } };
      const locked: ExpectedEvent = ['login.locked', stranger, target, changes];
      await expectEvents(401, [failed, locked], 'POST', '/auth/login', login(name, 'wrong'));
    });

    it('records a requested and a used reset, with the sessions that it ended (O12)', async () => {
      const user = await service.loginAs();
      const target: Subject = ['user', user.user_id];
      const requested: ExpectedEvent = ['password.reset_requested', stranger, target];
      await expectEvents(202, [requested], 'POST', '/auth/reset_email', { body: { email: user.email } });
      await service.mailbox.take(user.email);
      await endMailLimits(service);
      const token = await mailedResetToken(service, user.email);
      const changes = { user_id: { before: user.user_id }, ended_reason: { after: 'password_changed' } };
      const ended: ExpectedEvent = ['session.ended', stranger, ['session', user.session_id], changes];
      const reset: ExpectedEvent = ['password.reset', stranger, target];
      await expectEvents(204, [reset, ended], 'POST', `/auth/reset/${token}`, { body: { password: newPassword } });
    });

    it('records a changed password, a wrong current password and a changed e-mail address (O12)', async () => {
      const { token, user_id, email } = await service.loginAs();
      const actor: Subject = ['user', user_id];
      const wrong = { token, body: { current_password: 'wrong', new_password: newPassword } };
      await expectEvents(400, [['login.failed', actor, ['login', user_id]]], 'POST', '/auth/password', wrong);
      const right = { token, body: { current_password: password, new_password: newPassword } };
      await expectEvents(204, [['password.changed', actor, actor]], 'POST', '/auth/password', right);
      const next = `new-${email}`;
      const proposed: ExpectedEvent = ['user.changed', actor, actor, { email_pending: { before: null, after: next } }];
      const proposal = { token, body: { email: next, current_password: newPassword } };
      await expectEvents(202, [proposed], 'POST', '/auth/email', proposal);
      const { token: link } = await service.mailbox.take(next);
      const changes = { email: { before: email, after: next } };
      await expectEvents(204, [['user.email_confirmed', stranger, actor, changes]], 'POST', `/auth/email/${link}`);
    });

    it('records a created user, a changed role and a deleted user with the sessions (O12)', async () => {
      const { token } = admin;
      const carrier = { user_type: 'carrier', carrier_id: 'c5', name: 'hired', email: 'hired@example.com' };
      const body = { ...carrier, password, must_change_password: false };
      const values = { name: { after: 'hired' }, roles: { after: [] } };
      const created: ExpectedEvent = ['user.created', byAdmin(), ['user', expect.any(String)], values];
      const { user_id } = (await expectEvents(201, [created], 'POST', '/user/create', { token, body })).body;
      const target: Subject = ['user', user_id];
      const changes = { roles: { before: [], after: ['carrier_administrator'] } };
      const change = { token, body: { roles: ['carrier_administrator'] } };
      await expectEvents(200, [['user.changed', byAdmin(), target, changes]], 'PATCH', `/user/${user_id}`, change);
      const { session_id } = await service.login('hired');
      const reason = { user_id: { before: user_id }, ended_reason: { after: 'user_deleted' } };
      const ended: ExpectedEvent = ['session.ended', byAdmin(), ['session', session_id], reason];
      await expectEvents(204, [['user.deleted', byAdmin(), target], ended], 'DELETE', `/user/${user_id}`, { token });
    });

    it.each([
      ['PATCH', 'change', 'user.changed', { locale: 'de' }],
      ['DELETE', 'delete', 'user.deleted', undefined],
    ])(
      'records %s /user/all with its count, its filter fields and each user (O12)',
      async (method, kind, type, body) => {
        const carrier_id = `bulk-${kind}`;
        const users = [await service.createUser({ carrier_id }), await service.createUser({ carrier_id })];
        const asked = { kind: { after: kind }, matched: { after: 2 }, filters: { after: ['carrier_id'] } };
        const operation: ExpectedEvent = ['operation.accepted', byAdmin(), ['operation', expect.any(String)], asked];
        const each = users.map(({ user_id }): ExpectedEvent => [type, byAdmin(), ['user', user_id]]);
        const request = { token: admin.token, body };
        await expectEvents(200, [operation, ...each], method, `/user/all?carrier_id=${carrier_id}`, request);
      },
    );

    it('records a revoked session, a logout and a reused refresh token, but no denied request (O12)', async () => {
      const user = await service.loginAs();
      const ended = (actor: Subject, session_id: string, reason: string): ExpectedEvent => {
        const changes = { user_id: { before: user.user_id }, ended_reason: { after: reason } };
        return ['session.ended', actor, ['session', session_id], changes];
      };
      const revoked = ended(byAdmin(), user.session_id, 'revoked');
      await expectEvents(204, [revoked], 'DELETE', `/auth/session/${user.session_id}`, { token: admin.token });
      const { token, session_id } = await service.login(user.name);
      // Denied requests must not fill the table.
      await expectEvents(403, [], 'GET', '/audit/list', { token });
      await expectEvents(204, [ended(['user', user.user_id], session_id, 'logout')], 'POST', '/auth/logout', { token });
      const { session_id: stolen, refresh_token } = await service.login(user.name);
      const refresh = (secret: string) => service.post('/auth/check-token', { body: { refresh_token: secret } });
      await refresh((await refresh(refresh_token)).body.refresh_token);
      const changes = { user_id: { before: user.user_id } };
      const reused: ExpectedEvent = ['session.token_reused', stranger, ['session', stolen], changes];
      await expectEvents(401, [reused], 'POST', '/auth/check-token', { body: { refresh_token } });
    });
  });

  describe('for users with a limited scope', () => {
    let inside: TestLogin;
    let scoped: TestLogin;
    const [adminIp, carrierIp] = ['203.0.113.7', '198.51.100.9'];
    beforeAll(async () => {
      await service.rows(`insert into roles (name, user_types, permissions) values
        ('carrier_auditor', '{carrier}', '{audit:read,user:read,user:update}')`);
      inside = await service.loginAs({ carrier_id: 'c1', roles: ['carrier_auditor'] });
      scoped = await service.loginAs({ user_type: 'system', roles: ['auditor'], carrier_scope: ['c1'] });
    });

    const eventsOf = async (by: TestLogin, query: string) =>
      (await service.get(`/audit/list?${query}`, { token: by.token })).body.items as Event[];

    it('hides addresses and sessions of administrators, also from a guess as filter (B9, B19)', async () => {
      const { user_id } = await service.createUser();
      await service.patch(`/user/${user_id}`, { token: admin.token, ip: adminIp, body: { locale: 'de' } });
      await service.patch(`/user/${user_id}`, { token: inside.token, ip: carrierIp, body: { locale: 'en' } });
      const changes = `target_id=${user_id}&event_type=user.changed`;
      for (const reader of [inside, scoped]) {
        const [own, foreign] = await eventsOf(reader, changes);
        expect(own).toMatchObject({ actor_id: inside.user_id, ip: carrierIp, session_id: inside.session_id });
        expect(foreign).toMatchObject({ actor_id: admin.user_id, ip: null, session_id: null });
        for (const guess of [
          `ip=${adminIp}`,
          'ip=203.0.113.0/24',
          `session_id=${admin.session_id}`,
          `ip_ne=${carrierIp}&ip_isnull=false`,
        ])
          expect([guess, await eventsOf(reader, `${changes}&${guess}`)]).toEqual([guess, []]);
      }
      const [, all] = await eventsOf(admin, changes);
      expect(all).toMatchObject({ ip: adminIp, session_id: admin.session_id });
      expect(await eventsOf(admin, `${changes}&ip=${adminIp}`)).toHaveLength(1);
    });

    it('hides addresses of API keys outside the carrier, but not of failed logins of its users (B19)', async () => {
      const { user_id, name } = await service.createUser();
      const { key, key_id } = await createKey(service, ['user:update']);
      await service.patch(`/user/${user_id}`, { token: key, ip: adminIp, body: { locale: 'de' } });
      await service.post('/auth/login', { ip: adminIp, body: { login: name, password: 'wrong wrong wrong' } });
      const [failed] = await eventsOf(inside, `target_id=${user_id}&event_type=login.failed`);
      expect(failed).toMatchObject({ actor_type: 'system', ip: adminIp });
      const [changed] = await eventsOf(inside, `target_id=${user_id}&event_type=user.changed`);
      expect(changed).toMatchObject({ actor_type: 'key', actor_id: key_id, ip: null });
    });

    it('shows no event of a role, or of another type of target with the id of the caller (Z4, Z24)', async () => {
      await service.rows(
        `
          insert into events (event_type, actor_type, target_type, target_id)
          values ('key.revoked', 'system', 'key', $1), ('user.invited', 'system', 'user', $1)`,
        [scoped.user_id],
      );
      await service.post('/role/create', { token: admin.token, body: { name: 'made', user_types: ['carrier'] } });
      for (const reader of [scoped, inside]) expect(await eventsOf(reader, 'target_type=role')).toEqual([]);
      expect(await eventsOf(admin, 'target_type=role')).toHaveLength(1);
      const types = (await eventsOf(scoped, `target_id=${scoped.user_id}`)).map(({ event_type }) => event_type);
      expect(types).toEqual(['user.invited', 'login.succeeded', 'user.created']);
    });
  });

  it('keeps old events, deleted users and operations if the settings are 0', async () => {
    const { user_id } = await service.createUser();
    await service.delete(`/user/${user_id}`, admin);
    await service.rows(`update users set deleted_at = now() - interval '20 years' where user_id = $1`, [user_id]);
    await service.rows(`
      insert into events (event_type, actor_type, occurred_at)
      values ('user.unlocked', 'system', now() - interval '20 years');
      insert into operations
        (operation_id, kind, permission, status, actor_type, actor_id, request, created_at, finished_at)
      values (gen_random_uuid(), 'import', 'user:import', 'done', 'user', gen_random_uuid(), '{}',
        now() - interval '20 years', now() - interval '20 years')`);
    for (const retention of ['EventPartitions', 'UserPurgeService', 'OperationRetention'])
      await service.inside<EventPartitions>(retention).removeOld();
    expect((await service.get('/audit/list?event_type=user.unlocked', admin)).body.items).toHaveLength(1);
    expect(await service.rows('select 1 from users where user_id = $1', [user_id])).toHaveLength(1);
    expect(await service.rows(`select 1 from operations where kind = 'import'`)).toHaveLength(1);
  });

  describe('against tampering', () => {
    let user_id: string;
    beforeAll(async () => {
      ({ user_id } = await service.createUser({ first_name: 'Ada' }));
      await service.patch(`/user/${user_id}`, { token: admin.token, body: { first_name: 'Grace' } });
      await service.rows(`
        insert into events (event_type, actor_type, occurred_at)
        values ('user.invited', 'system', now() - interval '41 days')`);
    });

    const log = () => service.rows('select * from events order by event_id');

    /** Expects that the role of the service cannot run a statement while a setting is on. */
    const expectRejected = (setting: string, statement: string) =>
      inTransaction(service, async (client) => {
        await client.query(`select set_config('carrier_identity.${setting}', 'on', true)`);
        await expect(client.query(statement)).rejects.toThrow(appendOnly);
      });

    it('offers no method that changes or deletes an event (O13)', async () => {
      const audit = Object.entries(document.paths).filter(([path]) => path.startsWith('/audit'));
      expect(audit.map(([path, methods]) => [path, Object.keys(methods)])).toEqual([['/audit/list', ['get']]]);
      const before = await log();
      const [{ event_id } = {}] = before;
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
        for (const [url, status] of [
          [`/audit/list?event_id=${String(event_id)}`, 405],
          [`/audit/${String(event_id)}`, 404],
          ['/audit/all?everyone=true', 404],
          ['/audit', 404],
        ] as const) {
          const headers = { authorization: `Bearer ${admin.token}` };
          const { statusCode } = await service.inject({ method, url, headers, payload: { a: 1 } });
          expect([method, url, statusCode]).toEqual([method, url, status]);
        }
      expect(await log()).toEqual(before);
    });

    it.each([
      ['in any way', 'none'],
      ['while a user is purged', 'erasing'],
      ['while old events are removed', 'expiring'],
    ])('rejects tampering by the database role of the service %s (O13)', async (_when, setting) => {
      const old = `where occurred_at < now() - interval '40 days'`;
      const always = [
        ...['delete from events', 'truncate events', 'truncate events cascade', 'truncate only events_first'],
        ...['delete from events_first', 'delete from only events_first', 'truncate events_first'],
        'with gone as (delete from events returning 1) select count(*) from gone',
        'merge into events using (select 1) one on true when matched then delete',
        `update events set event_type = 'user.created'`,
        `update events_first set event_type = 'user.created'`,
        `update events set event_type = 'user.created' ${old}`,
        'update events set occurred_at = now()',
        'update events set actor_id = target_id',
        `update events set actor_id = null, changes = '{}'`,
        `update events set request_id = 'other'`,
        `update events set ip = '192.0.2.1'`,
        `update events set changes = '{"first_name": {"before": "Eve", "after": "Eve"}}'`,
        'update events set target_version = 99',
        `insert into events select * from events
         on conflict (occurred_at, event_id) do update set event_type = 'forged'`,
      ];
      const unlessExpiring = [`delete from events ${old}`];
      const unlessErasing = [`update events set ip = null ${old}`];
      const young = [`delete from events_first where occurred_at > now() - interval '29 days 23 hours'`];
      const before = await log();
      expect(before.length).toBeGreaterThan(3);
      for (const statement of [
        ...[...always, ...young],
        ...(setting === 'expiring' ? [] : unlessExpiring),
        ...(setting === 'erasing' ? [] : unlessErasing),
      ])
        await expectRejected(setting, statement);
      expect(await log()).toEqual(before);
    });

    it('rejects tampering with each month, even during the removal of old events (O13)', async () => {
      const months = await service.rows<{ name: string }>(`
        select relname as name
        from pg_class
        join pg_inherits on inhrelid = oid
        where inhparent = 'events'::regclass and relname <> 'events_first'`);
      expect(months).toHaveLength(2);
      for (const { name } of months) {
        // An event of the future, because the first partition contains all others.
        const day = `to_timestamp(right('${name}', 7) || '_02', 'YYYY_MM_DD')`;
        await service.rows(
          `insert into events (event_type, actor_type, occurred_at) values ('user.invited', 'system', ${day})`,
        );
        for (const setting of ['none', 'expiring'])
          for (const statement of [`update ${name} set ip = null`, `delete from ${name}`, `truncate ${name}`])
            await expectRejected(setting, statement);
        expect(await service.rows(`select 1 from ${name}`)).toHaveLength(1);
      }
    });

    it('removes no event younger than 30 days, even if the function is called with fewer days (O13)', async () => {
      await service.rows(`
        insert into events (event_type, actor_type, occurred_at)
        select 'user.exported', 'system', now() - i * interval '1 day'
        from generate_series(20, 40) i`);
      for (const days of ['1', '0', '-1000']) await service.rows(`select events_remove_expired(${days}, 1000)`);
      expect(await service.rows(`select 1 from events where event_type = 'user.exported'`)).toHaveLength(10);
      // The permission ends with the function.
      await expect(service.rows('delete from events')).rejects.toThrow(appendOnly);
    });

    it('keeps each event of a purged user and removes only personal values (O13)', async () => {
      const before = await log();
      expect((await service.delete(`/user/${user_id}?purge=true`, admin)).status).toBe(204);
      const after = await log();
      const kept = after.filter(({ event_id }) => before.some((event) => event['event_id'] === event_id));
      const lasting = (events: Record<string, unknown>[]) =>
        events.map((event) => ({ ...event, ip: undefined, changes: undefined, target_version: undefined }));
      expect(lasting(kept)).toEqual(lasting(before));
      expect(JSON.stringify(after)).not.toMatch(/Ada|Grace/);
      expect(after.map(({ event_type }) => event_type)).toContain('user.purged');
    });
  });
});
