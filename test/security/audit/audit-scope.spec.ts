import { createKey } from '../../support/keys';
import { type TestLogin, TestService } from '../../support/service';

interface AuditEvent {
  event_type: string;
  actor_type: string;
  actor_id: string | null;
  target_id: string;
  ip: string | null;
  session_id: string | null;
}

describe('the audit log for users with a limited scope', () => {
  let service: TestService;
  let inside: TestLogin;
  let scoped: TestLogin;
  const [adminIp, carrierIp] = ['203.0.113.7', '198.51.100.9'];
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(`insert into roles (name, user_types, permissions) values
      ('carrier_auditor', '{carrier}', '{audit:read,user:read,user:update}')`);
    inside = await service.loginAs({ carrier_id: 'c1', roles: ['carrier_auditor'] });
    scoped = await service.loginAs({ user_type: 'system', roles: ['auditor'], carrier_scope: ['c1'] });
  });
  afterAll(() => service.close());

  const eventsOf = async (by: TestLogin, query: string) =>
    (await service.get(`/audit/list?${query}`, { token: by.token })).body.items as AuditEvent[];

  it('hides addresses and sessions of administrators from an auditor of one carrier (B19)', async () => {
    const { user_id } = await service.createUser();
    await service.patch(`/user/${user_id}`, { token: service.admin.token, ip: adminIp, body: { locale: 'de' } });
    await service.patch(`/user/${user_id}`, { token: inside.token, ip: carrierIp, body: { locale: 'en' } });
    for (const reader of [inside, scoped]) {
      const [own, foreign] = await eventsOf(reader, `target_id=${user_id}&event_type=user.changed`);
      expect(own).toMatchObject({ actor_id: inside.user_id, ip: carrierIp, session_id: inside.session_id });
      expect(foreign).toMatchObject({ actor_id: service.admin.user_id, ip: null, session_id: null });
    }
    const [, all] = await eventsOf(service.admin, `target_id=${user_id}&event_type=user.changed`);
    expect(all).toMatchObject({ ip: adminIp, session_id: service.admin.session_id });
  });

  it('finds no event of an administrator by a guessed address or session (B9)', async () => {
    const { user_id } = await service.createUser();
    await service.patch(`/user/${user_id}`, { token: service.admin.token, ip: adminIp, body: { locale: 'de' } });
    for (const guess of [
      `ip=${adminIp}`,
      'ip=203.0.113.0/24',
      `session_id=${service.admin.session_id}`,
      `ip_ne=${carrierIp}&ip_isnull=false`,
    ]) {
      expect(await eventsOf(inside, `target_id=${user_id}&event_type=user.changed&${guess}`)).toEqual([]);
      expect(await eventsOf(scoped, `target_id=${user_id}&event_type=user.changed&${guess}`)).toEqual([]);
    }
    expect(await eventsOf(service.admin, `target_id=${user_id}&event_type=user.changed&ip=${adminIp}`)).toHaveLength(1);
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

  it('shows a scoped user no event whose target of another type has their id (Z24)', async () => {
    await service.rows(
      `
        insert into events (event_type, actor_type, target_type, target_id)
        values ('key.revoked', 'system', 'key', $1), ('user.invited', 'system', 'user', $1)`,
      [scoped.user_id],
    );
    expect((await eventsOf(scoped, `target_id=${scoped.user_id}`)).map(({ event_type }) => event_type)).toEqual([
      'user.invited',
      'login.succeeded',
      'user.created',
    ]);
  });
});
