import type { Browser } from 'playwright-core';
import { openBrowser } from '../../support/browser';
import {
  addPasskey,
  loginWithPasskey,
  optionsOf,
  PasskeyBrowser,
  type PasskeyHolder,
  passkeyHolder,
} from '../../support/passkeys';
import { password, type TestAnswer, TestService } from '../../support/service';
import { decode } from '../../support/tokens';

describe('passkeys in a real browser', () => {
  let service: TestService;
  let browser: Browser;
  let device: PasskeyBrowser;
  let user: PasskeyHolder;
  beforeAll(async () => {
    service = await TestService.start();
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await service.close();
  });
  beforeEach(async () => {
    device = await PasskeyBrowser.open(browser);
    user = await passkeyHolder(service, device);
  });
  afterEach(() => device.close());

  const sessionOf = async (token: string) => (await service.post('/auth/check-token', { token })).body.session;
  const factorsOf = async (token: string) => (await service.get('/auth/factor/list', { token })).body;
  const passwordStep = async (): Promise<string> => {
    const { status, body } = await service.post('/auth/login', { body: { login: user.name, password } });
    expect([status, body.code, body.factors]).toEqual([
      401,
      'auth.second_factor_required',
      ['passkey', 'recovery_code'],
    ]);
    return body.challenge;
  };

  it('limits the tokens of a login with a passkey to permissions of its user (J30)', async () => {
    const login = async (permissions: string[]) => {
      const { options, challenge } = await optionsOf(service, '/auth/passkey/options');
      const body = { challenge, passkey: await device.get(options), permissions };
      return service.post('/auth/passkey/login', { body });
    };
    const refused = await login(['user:read']);
    expect([refused.status, refused.body.code]).toEqual([400, 'auth.scope_exceeded']);
    const { status, body } = await login([]);
    expect([status, decode(body.access_token)['permissions']]).toEqual([200, []]);
    expect(decode(body.access_token)).not.toHaveProperty('roles');
  });

  it('enrols a discoverable passkey, which returns recovery codes and ends the other sessions (M9)', async () => {
    const { token, name } = await service.loginAs();
    const other = await service.login(name);
    const { options } = await optionsOf(service, '/auth/factor/passkey/options', { token });
    expect(options).toMatchObject({
      rp: { id: 'localhost', name: 'carrier-identity' },
      attestation: 'none',
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      timeout: 300_000,
    });
    const added = await addPasskey(service, await PasskeyBrowser.open(browser), token, 'Work laptop');
    expect(added.status).toBe(201);
    expect(added.body).toMatchObject({ kind: 'passkey', name: 'Work laptop', confirmed: true, last_used_at: null });
    expect(new Set(added.body.recovery_codes).size).toBe(10);
    expect((await service.post('/auth/check-token', { token: other.token })).status).toBe(401);
    expect((await sessionOf(token)).amr).toEqual(['pwd', 'hwk', 'user', 'mfa']);
  });

  it('does not enrol a passkey of the same device twice, and returns no second recovery codes', async () => {
    await expect(addPasskey(service, device, user.token)).rejects.toThrow(/InvalidStateError/);
    const second = await PasskeyBrowser.open(browser);
    const added = await addPasskey(service, second, user.token, 'Phone');
    expect([added.status, added.body.recovery_codes]).toEqual([201, undefined]);
    await second.close();
    const { items, recovery_codes_left } = await factorsOf(user.token);
    expect(items.map(({ name }: { name: string }) => name)).toEqual(['Laptop', 'Phone']);
    expect(recovery_codes_left).toBe(10);
  });

  it('logs in without name and password, from the autofill of a field', async () => {
    const { options, challenge } = await optionsOf(service, '/auth/passkey/options');
    expect(options).toMatchObject({ rpId: 'localhost', allowCredentials: [], userVerification: 'required' });
    const passkey = await device.get(options, 'conditional');
    const { status, body } = await service.post('/auth/passkey/login', { body: { challenge, passkey } });
    expect([status, body.user?.user_id]).toEqual([200, user.user_id]);
    expect((await sessionOf(body.access_token)).amr).toEqual(['hwk', 'user', 'mfa']);
    expect((await factorsOf(body.access_token)).items[0].last_used_at).not.toBeNull();
  });

  it('completes a login with the password, once', async () => {
    const challenge = await passwordStep();
    const path = '/auth/second-factor/passkey-options';
    const asked = await optionsOf(service, path, { body: { challenge } });
    expect(asked.challenge).toBe(challenge);
    const ids = (asked.options['allowCredentials'] as { id: string }[]).map(({ id }) => id);
    expect(ids).toHaveLength(1);
    const passkey = await device.get(asked.options);
    const { status, body } = await service.post('/auth/second-factor', { body: { challenge, passkey } });
    expect([status, body.user?.user_id]).toEqual([200, user.user_id]);
    expect((await sessionOf(body.access_token)).amr).toEqual(['pwd', 'hwk', 'user', 'mfa']);
    const replayed = await service.post('/auth/second-factor', { body: { challenge, passkey } });
    expect([replayed.status, replayed.body.code]).toEqual([401, 'auth.challenge_invalid']);
    const late = await service.post(path, { body: { challenge } });
    expect([late.status, late.body.code]).toEqual([401, 'auth.challenge_invalid']);
  });

  it('renews the authentication of a session, once per challenge', async () => {
    const { token } = user;
    await service.rows(`update sessions set auth_time = now() - interval '1 day' where session_id = $1`, [
      user.session_id,
    ]);
    const stale = await service.post('/auth/factor/recovery-codes', { token });
    expect([stale.status, stale.body.code]).toEqual([401, 'auth.reauthentication_required']);
    const { options, challenge } = await optionsOf(service, '/auth/reauthenticate/options', { token });
    const body = { challenge, passkey: await device.get(options) };
    const renewed = await service.post('/auth/reauthenticate', { token, body });
    expect(renewed.status).toBe(200);
    expect((await service.post('/auth/factor/recovery-codes', { token })).status).toBe(200);
    const replayed = await service.post('/auth/reauthenticate', { token, body });
    expect([replayed.status, replayed.body.code]).toEqual([401, 'auth.challenge_invalid']);
  });

  it('accepts exactly a passkey with its challenge, or another proof, for a reauthentication', async () => {
    const { token } = user;
    const asked = await optionsOf(service, '/auth/reauthenticate/options', { token });
    const passkey = await device.get(asked.options);
    const pointers: unknown[] = [];
    for (const body of [{ passkey }, { challenge: asked.challenge, code: '123456' }, { challenge: asked.challenge }]) {
      const answer = await service.send('POST', '/auth/reauthenticate', { token, body });
      pointers.push([answer.status, answer.body.errors?.[0]?.pointer]);
    }
    expect(pointers).toEqual([
      [400, '/challenge'],
      [400, '/challenge'],
      [400, ''],
    ]);
  });

  it('reports a passkey that may be copied to other devices as a software key', async () => {
    const synced = await PasskeyBrowser.open(browser, undefined, true);
    await passkeyHolder(service, synced);
    const { status, body } = await loginWithPasskey(service, synced);
    await synced.close();
    expect([status, (await sessionOf(body.access_token)).amr]).toEqual([200, ['swk', 'user', 'mfa']]);
  });

  it('names the product that keeps a passkey, if it is known', async () => {
    expect((await factorsOf(user.token)).items[0]).not.toHaveProperty('provider');
    await service.rows('update second_factors set aaguid = $1 where factor_id = $2', [
      'ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4',
      user.factor_id,
    ]);
    expect((await factorsOf(user.token)).items[0].provider).toBe('Google Password Manager');
  });

  it('logs a locked user in, and keeps the lockout of passwords', async () => {
    const wrong = (): Promise<TestAnswer> =>
      service.post('/auth/login', { body: { login: user.name, password: 'wrong' }, ip: '203.0.113.1' });
    for (let failures = 0; failures < 5; failures++) expect((await wrong()).status).toBe(401);
    expect((await wrong()).status).toBe(429);
    expect((await loginWithPasskey(service, device, '203.0.113.2')).status).toBe(200);
    expect((await wrong()).status).toBe(429);
  });

  it('restricts the session of a user who must change the password', async () => {
    await service.rows('update users set must_change_password = true where user_id = $1', [user.user_id]);
    const { status, body } = await loginWithPasskey(service, device);
    expect([status, body.user?.must_change_password]).toEqual([200, true]);
    const list = await service.get('/auth/factor/list', { token: body.access_token });
    expect([list.status, list.body.code]).toEqual([403, 'auth.password_change_required']);
  });
});
