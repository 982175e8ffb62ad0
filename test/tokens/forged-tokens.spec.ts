import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { headerForgeries } from '../support/forgeries/headers';
import { payloadForgeries } from '../support/forgeries/payloads';
import { signatureForgeries } from '../support/forgeries/signatures';
import { rawRequest, statusOf } from '../support/raw-request';
import { TestService } from '../support/service';
import { TokenForger } from '../support/token-forger';
import { decode, forge, ownKey } from '../support/tokens';

/** The forgeries follow Wycheproof's vectors and the playbook of jwt_tool. */
describe('forged access tokens', () => {
  let service: TestService;
  let forger: TokenForger;
  beforeAll(async () => {
    service = await TestService.start({ ACCESS_TOKEN_TTL_SECONDS: '3600' });
    forger = await TokenForger.make(service);
  });
  afterAll(async () => {
    forger.close();
    await service.close();
  });

  it.each([...signatureForgeries, ...headerForgeries, ...payloadForgeries])('%s', async (_attack, make) => {
    await forger.assertRefused(await make(forger));
  });

  it('calls no URL that a token names (J6)', async () => {
    expect(forger.called).toBe(0);
    // Control: the address accepts connections.
    await fetch(forger.url).catch(() => undefined);
    expect(forger.called).toBe(1);
  });

  it('rejects request headers beyond 64 KiB (J17)', async () => {
    const request = `GET /user HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${'A'.repeat(100_000)}\r\n\r\n`;
    expect(statusOf(await rawRequest(service.port, request, 60_000))).toBe(431);
  });

  it('rejects unknown key ids and malformed headers without reading the stored keys (J5)', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const header = { ...forger.header, kid: randomBytes(32).toString('base64url') };
    const headers = [header, { ...header, alg: 'none' }, { ...header, jku: forger.url }, 'garbage', ''];
    const holder = await service.sql.connect();
    try {
      // A read of the keys would wait for the end of this transaction.
      await holder.query('begin; lock table signing_keys in access exclusive mode');
      for (const token of ['garbage', ...headers.map((other) => forge(other, forger.claims, privateKey))]) {
        expect((await service.get('/user', { token })).status).toBe(401);
        expect((await service.post('/auth/check-token', { body: { token } })).status).toBe(401);
      }
    } finally {
      await holder.query('rollback');
      holder.release();
    }
  });

  it('rejects a subject who is deleted, disabled or invited, even with a live session (J11)', async () => {
    const [deleted, disabled, invited] = [await service.loginAs(), await service.loginAs(), await service.loginAs()];
    const { token } = service.admin;
    await service.delete(`/user/${deleted.user_id}`, { token });
    await service.patch(`/user/${disabled.user_id}`, { token, body: { status: 'disabled' } });
    await service.rows(`update users set status = 'invited' where user_id = $1`, [invited.user_id]);
    await service.rows('update sessions set ended_at = null, ended_reason = null where user_id = any($1)', [
      [deleted.user_id, disabled.user_id],
    ]);
    await forger.assertRefused({ deleted: deleted.token, disabled: disabled.token, invited: invited.token });
  });

  it('takes roles from the database, not from the token (J12)', async () => {
    const { claims, header, key, user } = forger;
    const rights = { roles: ['administrator'], user_type: 'system', permissions: ['*'], carrier_id: null };
    const token = forge(header, { ...claims, ...rights }, key);
    const seen = { user_id: user.user_id, user_type: 'carrier', roles: ['carrier_user'], permissions: [] };
    expect((await service.get('/user', { token })).body).toMatchObject(seen);
    expect((await service.get('/user/list', { token })).body.code).toBe('access.denied');
    expect((await service.post('/auth/check-token', { body: { token } })).body.permissions).toEqual([]);

    const manager = await service.loginAs({ roles: ['carrier_administrator'] });
    expect((await service.get('/user/list', { token: manager.token })).status).toBe(200);
    await service.patch(`/user/${manager.user_id}`, { token: service.admin.token, body: { roles: ['carrier_user'] } });
    expect(decode(manager.token)['roles']).toEqual(['carrier_administrator']);
    expect((await service.get('/user/list', { token: manager.token })).body.code).toBe('access.denied');
  });

  it('ignores additional claims (J12)', async () => {
    const { header, key, user } = forger;
    const check = async (token: string) => {
      const { body } = await service.post('/auth/check-token', { body: { token } });
      return { ...body, expires_in: 0, session: { ...body.session, last_seen_at: '' } };
    };
    const genuine = await check(user.token);
    for (const name of ['jti', 'user_type', 'roles', 'carrier_id', 'permissions', 'status', '__proto__', 'actor'])
      for (const text of ['null', '"system"', '["administrator"]', '{"length":1}']) {
        const token = forge(header, forger.saying(name, text), key);
        expect([name, text, await check(token)]).toEqual([name, text, genuine]);
        expect([name, text, (await service.get('/user/list', { token })).status]).toEqual([name, text, 403]);
      }
  });

  it('reads repeated claims alike everywhere (J16)', async () => {
    const { claims, header, key, user } = forger;
    const { admin } = service;
    const first = JSON.stringify({ sub: admin.user_id, sid: admin.session_id }).slice(1, -1);
    const token = forge(header, JSON.stringify(claims).replace('{', `{${first},`), key);
    expect((await service.get('/user', { token })).body.user_id).toBe(user.user_id);
    const checked = await service.post('/auth/check-token', { body: { token } });
    expect(checked.body).toMatchObject({ user: { user_id: user.user_id }, session: { session_id: user.session_id } });
  });

  it('issues tokens that contain only ids and technical claims (J21)', async () => {
    const user = await service.loginAs();
    const claims = 'amr aud auth_time client_id exp iat iss jti roles sid sub user_type'.split(' ');
    expect(Object.keys(decode(service.admin.token)).sort()).toEqual(claims);
    expect(Object.keys(decode(user.token)).sort()).toEqual(['carrier_id', ...claims].sort());
    expect(decode(user.token, 0)).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) });
    for (const said of [user.name, user.email, 'example.com'])
      expect(JSON.stringify(decode(user.token))).not.toContain(said);
    expect(Buffer.from(user.refresh_token, 'base64url').toString('latin1')).not.toContain(user.name);
  });

  it('stores private keys encrypted', async () => {
    const [row] = await service.rows<{ everything: string; private_key: Buffer }>(
      'select private_key, signing_keys::text as everything from signing_keys',
    );
    const { key } = await ownKey(service);
    const { d = '' } = key.export({ format: 'jwk' });
    const der = key.export({ format: 'der', type: 'pkcs8' });
    expect(row!.private_key.includes(Buffer.from(d, 'base64url'))).toBe(false);
    expect(row!.private_key.includes(der.subarray(0, 26))).toBe(false);
    for (const text of [d, Buffer.from(d, 'base64url').toString('hex'), der.toString('base64')])
      expect(row!.everything).not.toContain(text);
  });
});
