import type { KeyObject } from 'node:crypto';
import { type TestLogin, TestService } from '../../support/service';
import { TokenForger } from '../../support/token-forger';
import { decode, forge } from '../../support/tokens';

describe('access tokens with wrong claims and a valid signature', () => {
  let service: TestService;
  let forger: TokenForger;
  let user: TestLogin;
  let key: KeyObject;
  let header: Record<string, string>;
  let claims: Record<string, unknown>;

  beforeAll(async () => {
    service = await TestService.start();
    forger = await TokenForger.make(service);
    ({ user, key, header, claims } = forger);
  });
  afterAll(() => service.close());

  it('rejects a subject who is deleted, disabled or invited, even with a live session (J11)', async () => {
    const gone = {
      deleted: await service.loginAs(),
      disabled: await service.loginAs(),
      invited: await service.loginAs(),
    };
    const { token } = service.admin;
    expect((await service.delete(`/user/${gone.deleted.user_id}`, { token })).status).toBe(204);
    expect(
      (await service.patch(`/user/${gone.disabled.user_id}`, { token, body: { status: 'disabled' } })).status,
    ).toBe(200);
    await service.rows(`update users set status = 'invited' where user_id = $1`, [gone.invited.user_id]);
    // Even if a session remained.
    await service.rows('update sessions set ended_at = null, ended_reason = null where user_id = any($1)', [
      Object.values(gone).map(({ user_id }) => user_id),
    ]);
    const subjects = Object.entries(gone).map(([name, { user_id, session_id }]) => [
      name,
      { ...claims, sub: user_id, sid: session_id },
    ]);
    await forger.assertRefused(forger.claiming(Object.fromEntries(subjects)));
  });

  it('takes roles from the database, not from the token (J12)', async () => {
    const rights = { ...claims, roles: ['administrator'], user_type: 'system', permissions: ['*'], carrier_id: null };
    const token = forge(header, rights, key);
    const me = await service.get('/user', { token });
    expect(me.body).toMatchObject({
      user_id: user.user_id,
      user_type: 'carrier',
      roles: ['carrier_user'],
      permissions: [],
    });
    expect((await service.get('/user/list', { token })).body.code).toBe('access.denied');
    expect((await service.post('/auth/check-token', { body: { token } })).body.permissions).toEqual([]);

    const manager = await service.loginAs({ roles: ['carrier_administrator'] });
    expect((await service.get('/user/list', { token: manager.token })).status).toBe(200);
    await service.patch(`/user/${manager.user_id}`, { token: service.admin.token, body: { roles: ['carrier_user'] } });
    expect(decode(manager.token)['roles']).toEqual(['carrier_administrator']);
    expect((await service.get('/user/list', { token: manager.token })).body.code).toBe('access.denied');
  });

  it('ignores additional claims (J12)', async () => {
    const genuine = (await service.post('/auth/check-token', { body: { token: user.token } })).body;
    for (const name of ['jti', 'user_type', 'roles', 'carrier_id', 'permissions', 'status', '__proto__', 'actor']) {
      for (const text of ['null', 'true', '0', '1e400', '"system"', '["administrator"]', '{"length":1}', '[]']) {
        const token = forge(header, forger.saying(name, text), key);
        const {
          user: whose,
          session,
          permissions,
        } = (await service.post('/auth/check-token', { body: { token } })).body;
        const same = {
          ...genuine,
          user: whose,
          session: { ...session, last_seen_at: genuine.session.last_seen_at },
          permissions,
        };
        expect([name, text, same]).toEqual([name, text, genuine]);
        expect([name, text, (await service.get('/user/list', { token })).status]).toEqual([name, text, 403]);
      }
    }
  });

  it('reads repeated claims alike everywhere (J16)', async () => {
    const { admin } = service;
    const rest = JSON.stringify(
      Object.fromEntries(Object.entries(claims).filter(([name]) => name !== 'sub' && name !== 'sid')),
    ).slice(1, -1);
    const payload = (...pairs: string[]) => `{${pairs.join(',')},${rest}}`;
    const [mine, others] = [`"sub":"${user.user_id}"`, `"sub":"${admin.user_id}"`];
    const [sid, sidOfAdmin] = [`"sid":"${user.session_id}"`, `"sid":"${admin.session_id}"`];
    const token = forge(header, payload(others, mine, sidOfAdmin, sid), key);
    expect((await service.get('/user', { token })).body.user_id).toBe(user.user_id);
    const checked = await service.post('/auth/check-token', { body: { token } });
    expect(checked.body).toMatchObject({ user: { user_id: user.user_id }, session: { session_id: user.session_id } });
  });
});
