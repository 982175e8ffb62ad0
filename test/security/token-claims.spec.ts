import type { KeyObject } from 'node:crypto';
import { type TestLogin, TestService } from '../support/service';
import { TokenForger } from '../support/token-forger';
import { decode, forge } from '../support/tokens';

describe('access tokens with wrong claims, signed with the own key', () => {
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

  it('J9 times: expired, of the future, missing, of another type, though signed with the own key', async () => {
    const now = Math.floor(Date.now() / 1_000);
    const raw = (name: string, text: string) => `{${JSON.stringify(forger.without(name)).slice(1, -1)},"${name}":${text}}`;
    const texts = ['"9999999999"', '1e400', '-1', '0', 'null', 'true', '[9999999999]', '{}', '9999999999.5'];
    const typed = ['exp', 'iat'].flatMap((name) => texts.map((text) => [`${name} ${text}`, raw(name, text)]));
    await forger.assertRefused(
      forger.claiming({
        expired: { ...claims, iat: now - 700, exp: now - 31 },
        'expired long ago': { ...claims, iat: 1, exp: 2 },
        'no exp': forger.without('exp'),
        'no iat': forger.without('iat'),
        'iat of the future': { ...claims, iat: now + 31, exp: now + 600 },
        'nbf of the future': { ...claims, nbf: now + 31 },
        'nbf as text': { ...claims, nbf: String(now) },
        'nbf null': { ...claims, nbf: null },
        'nbf beyond numbers': raw('nbf', '1e400'),
        ...Object.fromEntries(typed),
      }),
    );
  });

  it('J10 issuer and audience: wrong, missing, several', async () => {
    const { iss, aud } = claims as { iss: string; aud: string };
    await forger.assertRefused(
      forger.claiming({
        ...{ 'iss wrong': { ...claims, iss: 'https://evil.test' }, 'iss longer': { ...claims, iss: `${iss}/` } },
        ...{ 'iss missing': forger.without('iss'), 'iss list': { ...claims, iss: [iss] }, 'iss null': { ...claims, iss: null } },
        ...{ 'aud wrong': { ...claims, aud: 'other' }, 'aud missing': forger.without('aud'), 'aud empty': { ...claims, aud: [] } },
        ...{ 'aud among others': { ...claims, aud: [aud, 'other'] }, 'aud alone in a list': { ...claims, aud: [aud] } },
        ...{ 'aud object': { ...claims, aud: { 0: aud } }, 'aud case': { ...claims, aud: aud.toUpperCase() } },
      }),
    );
  });

  it('J11 subject that is deleted, disabled, never existed, or somebody else', async () => {
    const gone = { deleted: await service.loginAs(), disabled: await service.loginAs(), invited: await service.loginAs() };
    const { token } = service.admin;
    expect((await service.delete(`/user/${gone.deleted.user_id}`, { token })).status).toBe(204);
    expect((await service.patch(`/user/${gone.disabled.user_id}`, { token, body: { status: 'disabled' } })).status).toBe(200);
    await service.rows(`update users set status = 'invited' where user_id = $1`, [gone.invited.user_id]);
    // even where a session were left over
    await service.rows('update sessions set ended_at = null, ended_reason = null where user_id = any($1)', [
      Object.values(gone).map(({ user_id }) => user_id),
    ]);
    const subjects = Object.entries(gone).map(([name, { user_id, session_id }]) => [name, { ...claims, sub: user_id, sid: session_id }]);
    const nobody = '01940000-0000-7000-8000-000000000000';
    await forger.assertRefused(
      forger.claiming({
        ...Object.fromEntries(subjects),
        'never existed': { ...claims, sub: nobody },
        'session of nobody': { ...claims, sid: nobody },
        'session of another': { ...claims, sid: service.admin.session_id },
        'user of another': { ...claims, sub: service.admin.user_id },
        'sub no id': { ...claims, sub: 'ada' },
        'sub list': { ...claims, sub: [user.user_id] },
        'sub in capitals': { ...claims, sub: user.user_id.toUpperCase() },
      }),
    );
  });

  it('J12 roles in the token: what the database says counts, at once', async () => {
    const rights = { ...claims, roles: ['administrator'], user_type: 'system', permissions: ['*'], carrier_id: null };
    const token = forge(header, rights, key);
    const me = await service.get('/user', { token });
    expect(me.body).toMatchObject({ user_id: user.user_id, user_type: 'carrier', roles: ['carrier_user'], permissions: [] });
    expect((await service.get('/user/list', { token })).body.code).toBe('access.denied');
    expect((await service.post('/auth/check-token', { body: { token } })).body.permissions).toEqual([]);

    const manager = await service.loginAs({ roles: ['carrier_administrator'] });
    expect((await service.get('/user/list', { token: manager.token })).status).toBe(200);
    await service.patch(`/user/${manager.user_id}`, { token: service.admin.token, body: { roles: ['carrier_user'] } });
    expect(decode(manager.token)['roles']).toEqual(['carrier_administrator']);
    expect((await service.get('/user/list', { token: manager.token })).body.code).toBe('access.denied');
  });

  it('J16 claims given twice: one reading only, the same everywhere', async () => {
    const { admin } = service;
    const rest = JSON.stringify(Object.fromEntries(Object.entries(claims).filter(([name]) => name !== 'sub' && name !== 'sid'))).slice(
      1,
      -1,
    );
    const payload = (...pairs: string[]) => `{${pairs.join(',')},${rest}}`;
    const [mine, others] = [`"sub":"${user.user_id}"`, `"sub":"${admin.user_id}"`];
    const [sid, sidOfAdmin] = [`"sid":"${user.session_id}"`, `"sid":"${admin.session_id}"`];
    const token = forge(header, payload(others, mine, sidOfAdmin, sid), key);
    expect((await service.get('/user', { token })).body.user_id).toBe(user.user_id);
    const checked = await service.post('/auth/check-token', { body: { token } });
    expect(checked.body).toMatchObject({ user: { user_id: user.user_id }, session: { session_id: user.session_id } });
    await forger.assertRefused(
      forger.claiming({
        'first of sub': payload(mine, others, sid),
        'last of sid': payload(mine, sid, sidOfAdmin),
        null: payload(mine, '"sub":null', sid),
      }),
    );
  });
});
