import { PasskeysService } from '../../src/credentials/factors/passkeys.service';
import { enrolApp } from '../support/factors';
import { passkeyOrigin } from '../support/passkeys';
import { password, TestService } from '../support/service';

describe('the settings of passkeys', () => {
  let service: TestService;
  const start = async (env: Record<string, string> = {}) => {
    service = await TestService.start(env);
    return service;
  };
  afterEach(() => service.close());

  it('lists the origins of passkeys at the root of the host, outside BASE_PATH', async () => {
    await start({
      ADMIN_PASSWORD: '',
      BASE_PATH: '/identity',
      WEBAUTHN_ORIGINS: 'https://portal.example.net,https://Console.example.net:443',
    });
    const { statusCode, headers, body } = await service.app.inject('/.well-known/webauthn');
    expect([statusCode, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      'application/json; charset=utf-8',
      'no-store',
    ]);
    expect(JSON.parse(body)).toEqual({ origins: ['https://portal.example.net', 'https://console.example.net'] });
    expect((await service.app.inject('/identity/.well-known/webauthn')).statusCode).toBe(404);
    expect((await service.app.inject({ method: 'POST', url: '/.well-known/webauthn' })).statusCode).toBe(405);
    const options = await service.post('/identity/auth/passkey/options');
    expect(options.status).toBe(200);
  });

  it('takes the RP id and the origin from PUBLIC_URL by default', async () => {
    await start();
    expect((await service.get('/.well-known/webauthn')).body).toEqual({ origins: [passkeyOrigin] });
    expect((await service.post('/auth/passkey/options')).body.options.rpId).toBe('localhost');
  });

  it('turns passkeys off at an IP address, and says why', async () => {
    await start({ PUBLIC_URL: 'https://192.0.2.7' });
    expect((await service.get('/.well-known/webauthn')).body).toEqual({ origins: [] });
    const { token } = service.admin;
    const passkey = { id: 'AA', rawId: 'AA', type: 'public-key', response: {} };
    for (const [path, body] of [
      ['/auth/passkey/options', undefined],
      ['/auth/factor/passkey/options', undefined],
      ['/auth/reauthenticate/options', undefined],
    ] as const) {
      const answer = await service.post(path, { token, body });
      expect([answer.status, answer.body.code]).toEqual([404, 'request.not_found']);
      expect(answer.body.detail).toMatch(/^Passkeys are off: .*WEBAUTHN_RP_ID/);
    }
    const malformed = await service.post('/auth/passkey/login', { body: { challenge: 'x', passkey } });
    expect(malformed.status).toBe(400);
  });

  it.each([
    ['passkeys are off', { PUBLIC_URL: 'https://192.0.2.7' }, 'localhost'],
    ['they belong to another RP id', {}, 'portal.example.net'],
  ])('offers no passkeys at a login if %s, and still asks for a second factor', async (_title, env, rp_id) => {
    await start(env);
    const user = await service.loginAs();
    const { factor_id, recovery_codes } = await enrolApp(service, user);
    await service.rows(
      `insert into second_factors (
         factor_id, user_id, kind, name, confirmed_at, credential_id, public_key, signature_counter, rp_id,
         backup_eligible
       )
       values (gen_random_uuid(), $1::uuid, 'passkey', 'Key', now(), sha256($1::text::bytea), '', 0, $2, false)`,
      [user.user_id, rp_id],
    );
    const body = { login: user.name, password };
    const withApp = await service.post('/auth/login', { body });
    expect([withApp.status, withApp.body.factors]).toEqual([401, ['totp', 'recovery_code']]);
    expect((await service.delete(`/auth/factor/${factor_id}`, user)).status).toBe(204);
    const without = await service.post('/auth/login', { body });
    expect([without.status, without.body.code, without.body.factors]).toEqual([
      401,
      'auth.second_factor_required',
      ['recovery_code'],
    ]);
    const [recovery_code] = recovery_codes;
    const { challenge } = without.body;
    expect((await service.post('/auth/second-factor', { body: { challenge, recovery_code } })).status).toBe(200);
  });

  it('forgets used challenges an hour after their expiry', async () => {
    await start();
    await service.rows(`
      insert into used_passkey_challenges (challenge_hash, expires_at)
      select sha256(convert_to(n::text, 'UTF8')), now() - n * interval '50 minutes'
      from generate_series(1, 1500) n`);
    await service.app.get(PasskeysService).forgetChallenges();
    expect(await service.rows('select 1 from used_passkey_challenges')).toHaveLength(1);
  });
});
