import type { FirstAdministrator } from '../../src/auth/recovery/first-administrator.service';
import { password, TestService } from '../support/service';

const another = 'quite another long password';

describe('attempts to keep or take over a login', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  async function resetLink(email: string): Promise<string> {
    expect((await service.post('/auth/reset_email', { body: { email } })).status).toBe(202);
    return `/auth/reset/${(await service.mailbox.take(email, /auth\/reset/)).token}`;
  }

  it('lets a reset win over a password change that runs at the same time (S12)', async () => {
    for (let round = 0; round < 8; round++) {
      const user = await service.loginAs({ roles: ['carrier_user'] });
      const link = await resetLink(user.email);
      const change = service.post('/auth/password', {
        token: user.token,
        body: { current_password: password, new_password: another },
      });
      const [changed, reset] = await Promise.all([
        change,
        service.post(link, { body: { password: 'the owner has it again' } }),
      ]);
      const works = (secret: string) => service.post('/auth/login', { body: { login: user.email, password: secret } });
      // If the reset came first, it rejected the change.
      expect(reset.status).toBe(204);
      expect([204, 401]).toContain(changed.status);
      expect((await works(another)).status).toBe(401);
      expect((await works('the owner has it again')).status).toBe(200);
    }
  });

  it('invalidates the confirmation of a proposed address at a reset (E1)', async () => {
    const user = await service.loginAs({ roles: ['carrier_user'] });
    const body = { email: 'evil1@example.com', current_password: password };
    expect((await service.post('/auth/email', { token: user.token, body })).status).toBe(202);
    const { token } = await service.mailbox.take('evil1@example.com');
    expect((await service.post(await resetLink(user.email), { body: { password: another } })).status).toBe(204);
    expect((await service.post(`/auth/email/${token}`)).status).toBe(404);
    expect((await service.get(`/user/${user.user_id}`, { token: service.admin.token })).body).toMatchObject({
      email: user.email,
      email_pending: null,
    });
  });

  it('rejects an address that was proposed before the user gained permissions (Z10)', async () => {
    const user = await service.createUser({ user_type: 'system' });
    const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    const proposal = await service.patch(`/user/${user.user_id}`, {
      token: operator.token,
      body: { email: 'evil2@example.com' },
    });
    expect(proposal.status).toBe(200);
    const { token } = await service.mailbox.take('evil2@example.com');
    const given = await service.patch(`/user/${user.user_id}`, {
      token: service.admin.token,
      body: { roles: ['administrator'] },
    });
    expect(given.body).toMatchObject({ roles: ['administrator'], email_pending: null });
    expect((await service.post(`/auth/email/${token}`)).status).toBe(404);
  });

  it('changes no own address with a stolen token and no password (E2)', async () => {
    const refused = await service.patch(`/user/${service.admin.user_id}`, {
      token: service.admin.token,
      body: { email: 'evil3@example.com' },
    });
    expect([refused.status, refused.body.code]).toEqual([403, 'user.self_protected']);
    const same = await service.patch(`/user/${service.admin.user_id}`, {
      token: service.admin.token,
      body: { email: 'ADMIN@example.com' },
    });
    expect(same.status).toBe(200);
  });

  it('rejects allowed_ips without the own address, and recovers a user who is locked out (L11)', async () => {
    const body = { allowed_ips: ['203.0.113.0/24'] };
    const refused = await service.patch(`/user/${service.admin.user_id}`, { token: service.admin.token, body });
    expect([refused.status, refused.body.code]).toEqual([403, 'user.self_protected']);
    const found = await service.patch('/user/all?user_type=system&name=administrator', {
      token: service.admin.token,
      body,
    });
    expect(found.body).toMatchObject({
      changed: 0,
      skipped: [{ user_id: service.admin.user_id, reason: 'user.self_protected' }],
    });
    await service.rows('update users set allowed_ips = $1 where user_id = $2', [
      body.allowed_ips,
      service.admin.user_id,
    ]);
    const link = new URL(await service.inside<FirstAdministrator>('FirstAdministrator').recover('administrator'))
      .pathname;
    expect((await service.post(link, { body: { password: another } })).status).toBe(204);
    await service.login('administrator', another).then((login) => Object.assign(service.admin, login));
  });

  it('keeps a shown link valid after reset requests and a password change, until a reset (L11)', async () => {
    const { name, email, token } = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const [first, second] = [
      new URL(await service.inside<FirstAdministrator>('FirstAdministrator').recover(name)).pathname,
      new URL(await service.inside<FirstAdministrator>('FirstAdministrator').recover(name)).pathname,
    ];
    expect((await service.get(first)).status).toBe(404);
    const mailed = await resetLink(email);
    await service.post('/auth/password', { token, body: { current_password: password, new_password: another } });
    expect((await service.get(second)).body.kind).toBe('reset');
    expect((await service.post(mailed, { body: { password: 'a phrase by mail instead' } })).status).toBe(204);
    expect((await service.get(second)).status).toBe(404);
    const third = new URL(await service.inside<FirstAdministrator>('FirstAdministrator').recover(name)).pathname;
    expect((await service.post(third, { body: { password: 'a phrase by terminal' } })).status).toBe(204);
  });

  it('recovers any user who counts as administrator by the permission, and no other (L11)', async () => {
    const recover = (login: string) => service.inside<FirstAdministrator>('FirstAdministrator').recover(login);
    await service.rows(
      `
        insert into roles (name, user_types, permissions)
        values ('owner', '{system}', '{*}'), ('most', '{system}', '{user:read}')`,
    );
    const [owner, other] = [
      await service.createUser({ user_type: 'system', carrier_id: undefined, roles: ['owner'] }),
      await service.createUser({ user_type: 'system', carrier_id: undefined, roles: ['most'] }),
    ];
    const link = new URL(await recover(owner.name)).pathname;
    expect((await service.post(link, { body: { password: 'quite another phrase, found again' } })).status).toBe(204);
    await service.login(owner.name, 'quite another phrase, found again');
    for (const login of [other.name, 'unknown.name']) await expect(recover(login)).rejects.toThrow();
  });

  it('skips the record of activity during a change of the same user, without a deadlock (S4)', async () => {
    const user = await service.loginAs({ roles: ['carrier_user'] });
    await service.rows(`update sessions set last_seen_at = now() - interval '5 minutes' where user_id = $1`, [
      user.user_id,
    ]);
    const other = await service.sql.connect();
    try {
      await other.query('begin');
      await other.query('select 1 from users where user_id = $1 for update', [user.user_id]);
      expect((await service.get('/user', { token: user.token })).status).toBe(200);
      await other.query(`update sessions set ended_at = now(), ended_reason = 'revoked' where user_id = $1`, [
        user.user_id,
      ]);
      await other.query('commit');
    } finally {
      other.release();
    }
    await service.rows('select 1');
    expect((await service.get('/user', { token: user.token })).status).toBe(401);
  });

  it.each([
    ['1.2.3.4:5678', '1.2.3.4'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['unknown', null],
  ])('stores no forged address of a proxy: %s (S18)', async (forwarded, ip) => {
    const { name } = await service.createUser();
    const headers = { 'x-forwarded-for': forwarded };
    const { status, body } = await service.post('/auth/login', { body: { login: name, password }, headers });
    expect([status, body.user?.last_login_ip]).toEqual([200, ip]);
  });
});
