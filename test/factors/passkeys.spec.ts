import { createHash, randomBytes } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';
import type { Browser } from 'playwright-core';
import type { PasskeysService } from '../../src/auth/second-factors/passkeys/passkeys.service';
import { openBrowser } from '../support/console/browser';
import { changesOf } from '../support/data/events';
import { enrolApp } from '../support/logins/factors';
import {
  addPasskey,
  loginWithPasskey,
  optionsOf,
  PasskeyBrowser,
  type PasskeyHolder,
  passkeyHolder,
  type PasskeyJson,
  signLogin,
} from '../support/logins/passkeys';
import { password, type TestAnswer, TestService } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { decode } from '../support/logins/tokens';

const userVerifiedFlag = 0b100;
const subdomain = 'http://app.localhost:3000';

const encode = (bytes: Uint8Array | string) => Buffer.from(bytes).toString('base64url');
const json = (value: unknown) => encode(JSON.stringify(value));
const cbor = (value: Parameters<typeof isoCBOR.encode>[0]) => encode(isoCBOR.encode(value));
/** Arrays in arrays, each with one item. */
const deepCbor = encode(Buffer.alloc(12_000, 0x81));
/** A byte string and a map that claim to be longer than memory. */
const hugeCbor = [encode(Buffer.from('5b7fffffffffffffff', 'hex')), encode(Buffer.from('bb7fffffffffffffff', 'hex'))];
const brokenCbor = ['AA', '_w', deepCbor, ...hugeCbor, cbor(new Map()), cbor('text'), cbor([1, 2])];
/** Authenticator data with the flag of extensions, and an extension that is no map or too deep. */
const extended = (extension: Buffer) =>
  encode(Buffer.concat([Buffer.alloc(32), Buffer.from('8500000001', 'hex'), extension]));
const brokenData = ['AA', encode(Buffer.alloc(36)), encode(Buffer.alloc(500)), extended(Buffer.alloc(3_000, 0x81))];
const brokenClient = [
  'AA',
  encode('{'),
  json(null),
  json([]),
  json('text'),
  json({}),
  json({ type: 'webauthn.get', challenge: 1, origin: 'http://localhost:3000' }),
  json({ type: 'webauthn.get', challenge: 'AA', origin: 'http://localhost:3000', crossOrigin: true }),
];
const notBase64 = ['', 'a', 'a+b/', 'aaa=', 'a b', 'ä', '\u0000', 'x'.repeat(20_000), 1, true, {}, [], ['AA'], null];

/** A change of a member of a passkey, and the pointer of its error. */
type Fault = [pointer: string, value: unknown];

const members = (names: string[], values: unknown[]): Fault[] =>
  names.flatMap((name) => values.map((value): Fault => [`/passkey/${name}`, value]));
const common: Fault[] = [
  ...members(['id', 'rawId'], notBase64),
  ...members(['type'], ['password', 1, null, undefined]),
  ...members(['response'], [1, 'text', null, [], undefined]),
  ...members(['response/clientDataJSON'], [...notBase64, ...brokenClient, undefined]),
];
const loginFaults: Fault[] = [
  ...common,
  ...members(['response/authenticatorData'], [...notBase64, ...brokenData, undefined]),
  ...members(['response/signature'], [...notBase64, undefined]),
  ...members(['response/userHandle'], notBase64.slice(0, -1)),
];
const enrollmentFaults: Fault[] = [
  ...common,
  ...members(['response/attestationObject'], [...notBase64, ...brokenCbor, undefined]),
  ...members(['response/transports'], [1, {}, 'usb', [1], [''], ['x'.repeat(33)], Array(9).fill('usb'), [['usb']]]),
];

/** Returns a copy of a passkey with another value of a member; undefined removes the member. */
function withFault(passkey: PasskeyJson, [pointer, value]: Fault): unknown {
  const [, , ...path] = pointer.split('/');
  const copy = structuredClone(passkey) as Record<string, unknown>;
  const last = path.pop() as string;
  const owner = path.reduce((node, name) => node[name] as Record<string, unknown>, copy);
  owner[last] = value;
  return copy;
}

function attestationOf({ response }: PasskeyJson): Map<string, unknown> {
  return isoCBOR.decodeFirst(new Uint8Array(Buffer.from(response['attestationObject'] as string, 'base64url')));
}

/** Returns a new passkey with another attested id, and if told so, with the same `id`. */
function withAttestedId(passkey: PasskeyJson, id: Buffer, changesId: boolean): PasskeyJson {
  const attestation = attestationOf(passkey);
  const data = Buffer.from(attestation.get('authData') as Uint8Array);
  // Flags, counter and model precede the length of the id (WebAuthn §6.1).
  const lengthAt = 53;
  const keyAt = lengthAt + 2 + data.readUInt16BE(lengthAt);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(id.length);
  const authData = Buffer.concat([data.subarray(0, lengthAt), length, id, data.subarray(keyAt)]);
  const attestationObject = cbor(new Map([...attestation, ['authData', new Uint8Array(authData)]]) as never);
  const ids = changesId ? { id: encode(id), rawId: encode(id) } : {};
  return { ...passkey, ...ids, response: { ...passkey.response, attestationObject } };
}

describe('passkeys', () => {
  let service: TestService;
  let browser: Browser;
  let device: PasskeyBrowser;
  let user: PasskeyHolder;
  beforeAll(async () => {
    service = await TestService.start({ WEBAUTHN_ORIGINS: `http://localhost:3000,${subdomain}` });
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

  const login = (challenge: string, passkey: PasskeyJson, ip?: string): Promise<TestAnswer> =>
    service.post('/auth/passkey/login', { body: { challenge, passkey }, ...(ip === undefined ? {} : { ip }) });
  const verdict = ({ status, body }: TestAnswer) => [status, body.code ?? body.user.user_id];
  const unknown = [401, 'auth.passkey_unknown'];
  const invalidChallenge = [401, 'auth.challenge_invalid'];
  const goesBack = () => changesOf(service, 'factor.counter_went_back', user.user_id);
  const secondStep = (challenge: string, passkey: PasskeyJson) =>
    service.post('/auth/second-factor', { body: { challenge, passkey } });
  const reauthenticate = (token: string, challenge: string, passkey: PasskeyJson) =>
    service.post('/auth/reauthenticate', { token, body: { challenge, passkey } });
  /** Requests the options of an enrolment. */
  const enrolment = (token = user.token) => optionsOf(service, '/auth/factor/passkey/options', { token });
  const enrol = (challenge: string, passkey: PasskeyJson, token = user.token) =>
    service.post('/auth/factor/passkey', { token, body: { name: 'Key', challenge, passkey } });
  /** Returns a rejected enrolment by its status and the member that is named. */
  const fault = ({ status, body }: TestAnswer) => [status, body.errors?.[0].pointer];

  /** Inserts passkeys of a user that no device has. */
  const addPasskeyRows = (user_id: string, rp_id: string, count: number) =>
    service.rows(
      `insert into second_factors (
         factor_id, user_id, kind, name, confirmed_at, credential_id, public_key, signature_counter, rp_id,
         backup_eligible
       )
       select
         gen_random_uuid(), $1::uuid, 'passkey', 'Key', now(), sha256(convert_to($1::text || n, 'UTF8')), '', 0, $2,
         false
       from generate_series(1, $3) n`,
      [user_id, rp_id, count],
    );
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
    const loginWith = async (permissions: string[]) => {
      const signed = await signLogin(service, device);
      return service.post('/auth/passkey/login', { body: { ...signed, permissions } });
    };
    const refused = await loginWith(['user:read']);
    expect([refused.status, refused.body.code]).toEqual([400, 'auth.scope_exceeded']);
    const { status, body } = await loginWith([]);
    expect([status, decode(body.access_token)['permissions']]).toEqual([200, []]);
    expect(decode(body.access_token)).not.toHaveProperty('roles');
  });

  it('enrols a discoverable passkey, which returns recovery codes and ends the other sessions (M9)', async () => {
    const { token, name } = await service.loginAs();
    const other = await service.login(name);
    const { options } = await enrolment(token);
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
    expect(asked).toMatchObject({ challenge, options: { allowCredentials: [expect.anything()] } });
    const passkey = await device.get(asked.options);
    const { status, body } = await secondStep(challenge, passkey);
    expect([status, body.user?.user_id]).toEqual([200, user.user_id]);
    expect((await sessionOf(body.access_token)).amr).toEqual(['pwd', 'hwk', 'user', 'mfa']);
    expect(verdict(await secondStep(challenge, passkey))).toEqual(invalidChallenge);
    expect(verdict(await service.post(path, { body: { challenge } }))).toEqual(invalidChallenge);
  });

  it('renews the authentication of a session, once per challenge', async () => {
    const { token, user_id } = user;
    await service.rows(`update sessions set auth_time = now() - interval '1 day' where user_id = $1`, [user_id]);
    const stale = await service.post('/auth/factor/recovery-codes', { token });
    expect([stale.status, stale.body.code]).toEqual([401, 'auth.reauthentication_required']);
    const { options, challenge } = await optionsOf(service, '/auth/reauthenticate/options', { token });
    const passkey = await device.get(options);
    expect((await reauthenticate(token, challenge, passkey)).status).toBe(200);
    expect((await service.post('/auth/factor/recovery-codes', { token })).status).toBe(200);
    expect(verdict(await reauthenticate(token, challenge, passkey))).toEqual(invalidChallenge);
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

  it('rejects, records and mails a signature counter that goes back (M13)', async () => {
    expect(verdict(await loginWithPasskey(service, device))).toEqual([200, user.user_id]);
    const [{ credentialId, signCount }] = (await device.credentials()) as [{ credentialId: string; signCount: number }];
    await device.setCounter(credentialId, 0);
    expect(verdict(await loginWithPasskey(service, device))).toEqual(unknown);
    expect(await goesBack()).toEqual([
      { factor_id: { after: user.factor_id }, counter: { before: signCount, after: 1 } },
    ]);
    await service.mailbox.take(user.email, /passkey/i);
    await device.setCounter(credentialId, signCount);
    expect(verdict(await loginWithPasskey(service, device))).toEqual([200, user.user_id]);
  });

  it('neither records nor mails a lower counter without a right signature (M13)', async () => {
    await loginWithPasskey(service, device);
    const { challenge, passkey } = await signLogin(service, device);
    const data = Buffer.from(passkey.response['authenticatorData'] as string, 'base64url');
    data.writeUInt32BE(1, 33);
    const forged = { ...passkey, response: { ...passkey.response, authenticatorData: data.toString('base64url') } };
    expect(verdict(await login(challenge, forged))).toEqual(unknown);
    expect(await goesBack()).toEqual([]);
    expect(verdict(await login(challenge, passkey))).toEqual([200, user.user_id]);
  });

  it('accepts a response once, also of 20 concurrent requests and without a counter', async () => {
    await service.rows('update second_factors set signature_counter = 0 where user_id = $1', [user.user_id]);
    const { challenge, passkey } = await signLogin(service, device);
    const answers = await Promise.all(Array.from({ length: 20 }, () => login(challenge, passkey)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ body }) => body.code === 'auth.challenge_invalid')).toHaveLength(19);
  });

  it('rejects a challenge of another purpose, user, session or login', async () => {
    const { token } = user;
    const [one, other] = [await passwordStep(), await passwordStep()];
    const asked = {
      enrolment: await enrolment(),
      login: await optionsOf(service, '/auth/passkey/options'),
      step: await optionsOf(service, '/auth/second-factor/passkey-options', { body: { challenge: one } }),
      again: await optionsOf(service, '/auth/reauthenticate/options', { token }),
    };
    const sign = ({ options: { challenge } }: { options: Record<string, unknown> }) =>
      device.get({ ...asked.login.options, challenge });
    const [enrolled, named, step, again] = [
      await sign(asked.enrolment),
      await sign(asked.login),
      await sign(asked.step),
      await sign(asked.again),
    ];
    for (const { challenge } of [asked.enrolment, asked.again])
      for (const passkey of [enrolled, again])
        expect(verdict(await login(challenge, passkey))).toEqual(invalidChallenge);
    expect(verdict(await login(asked.login.challenge, step))).toEqual(unknown);
    for (const passkey of [enrolled, named, again]) expect(verdict(await secondStep(one, passkey))).toEqual(unknown);
    expect(verdict(await secondStep(other, step))).toEqual(unknown);
    expect((await secondStep(one, step)).status).toBe(200);
    expect(verdict(await reauthenticate(token, asked.login.challenge, named))).toEqual(invalidChallenge);
    expect(verdict(await reauthenticate(token, asked.enrolment.challenge, enrolled))).toEqual(invalidChallenge);
    const elsewhere = [(await service.loginAs()).token, (await loginWithPasskey(service, device)).body.access_token];
    for (const strange of elsewhere)
      expect(verdict(await reauthenticate(strange, asked.again.challenge, again))).toEqual(invalidChallenge);
  });

  it('rejects a passkey of another user in the second step and in a session', async () => {
    const attacker = await PasskeyBrowser.open(browser);
    await passkeyHolder(service, attacker);
    const challenge = await passwordStep();
    const { options } = await optionsOf(service, '/auth/second-factor/passkey-options', { body: { challenge } });
    const passkey = await attacker.get({ ...options, allowCredentials: [] });
    expect(verdict(await secondStep(challenge, passkey))).toEqual(unknown);
    const again = await optionsOf(service, '/auth/reauthenticate/options', user);
    const signed = await attacker.get({ ...again.options, allowCredentials: [] });
    expect(verdict(await reauthenticate(user.token, again.challenge, signed))).toEqual(unknown);
    await attacker.close();
  });

  it('rejects a response of a page on another origin, as for a phishing proxy', async () => {
    await device.goto('http://localhost:4000');
    const { challenge, passkey } = await signLogin(service, device);
    expect(verdict(await login(challenge, passkey))).toEqual(unknown);
    const asked = await enrolment();
    const created = await device.create({ ...asked.options, excludeCredentials: [] });
    expect(fault(await enrol(asked.challenge, created))).toEqual([400, '/passkey']);
  });

  it('rejects a passkey for another RP id', async () => {
    await device.goto(subdomain);
    const { options, challenge } = await enrolment();
    const rp = { id: 'app.localhost', name: 'Other' };
    const passkey = await device.create({ ...options, rp, excludeCredentials: [] });
    expect(fault(await enrol(challenge, passkey))).toEqual([400, '/passkey']);
    const asked = await optionsOf(service, '/auth/passkey/options');
    const other = await device.get({ ...asked.options, rpId: 'app.localhost' });
    const credentialId = (await device.credentials()).find(({ rpId }) => rpId === 'localhost')?.credentialId ?? '';
    const id = Buffer.from(credentialId, 'base64').toString('base64url');
    expect(verdict(await login(asked.challenge, other))).toEqual(unknown);
    expect(verdict(await login(asked.challenge, { ...other, id, rawId: id }))).toEqual(unknown);
  });

  it('rejects a passkey that did not verify its user', async () => {
    await device.recognizes(false);
    const asked = await optionsOf(service, '/auth/passkey/options');
    const passkey = await device.get({ ...asked.options, userVerification: 'discouraged' });
    expect(verdict(await login(asked.challenge, passkey))).toEqual(unknown);
    await device.recognizes(true);
    const { options, challenge } = await enrolment();
    const created = await device.create({ ...options, excludeCredentials: [] });
    const attestation = Buffer.from(created.response['attestationObject'] as string, 'base64url');
    const flags = attestation.indexOf(createHash('sha256').update('localhost').digest()) + 32;
    attestation.writeUInt8(attestation.readUInt8(flags) & ~userVerifiedFlag, flags);
    const response = { ...created.response, attestationObject: encode(attestation) };
    expect(fault(await enrol(challenge, { ...created, response }))).toEqual([400, '/passkey']);
  });

  it('gives a removed, unknown or disabled passkey the same response, and none of its user', async () => {
    const signed = await signLogin(service, device);
    await service.patch(`/user/${user.user_id}`, { ...service.admin, body: { status: 'disabled' } });
    const disabled = await login(signed.challenge, signed.passkey);
    await service.patch(`/user/${user.user_id}`, { ...service.admin, body: { status: 'active' } });
    const again = await signLogin(service, device);
    await service.rows('delete from second_factors where user_id = $1', [user.user_id]);
    const removed = await login(again.challenge, again.passkey);
    for (const answer of [disabled, removed]) {
      const { status, body } = answer;
      expect([status, { ...body, request_id: '' }]).toEqual([401, { ...removed.body, request_id: '' }]);
      expect(answer.text).not.toContain(user.user_id);
    }
  });

  it('logs in only from an allowed address, and records a rejected one', async () => {
    await service.rows(`update users set allowed_ips = '{192.0.2.0/24}' where user_id = $1`, [user.user_id]);
    expect(verdict(await loginWithPasskey(service, device, '198.51.100.1'))).toEqual([403, 'auth.ip_not_allowed']);
    expect(verdict(await loginWithPasskey(service, device, '192.0.2.9'))).toEqual([200, user.user_id]);
    const reason = { after: 'auth.ip_not_allowed' };
    expect(await changesOf(service, 'login.failed', user.user_id)).toEqual([{ reason }]);
  });

  it('stores only used challenges, and neither names nor counts users in the options', async () => {
    const before = await service.rows('select 1 from used_passkey_challenges');
    const texts = new Set<string>();
    for (let count = 0; count < 5; count++) {
      const { options } = await optionsOf(service, '/auth/passkey/options');
      texts.add(JSON.stringify({ ...options, challenge: '' }));
    }
    expect(texts.size).toBe(1);
    expect(await service.rows('select 1 from used_passkey_challenges')).toHaveLength(before.length);
    await loginWithPasskey(service, device);
    expect(await service.rows('select 1 from used_passkey_challenges')).toHaveLength(before.length + 1);
  });

  it('keeps at most 10 passkeys per user, also of concurrent requests', async () => {
    await addPasskeyRows(user.user_id, 'localhost', 8);
    const created: Parameters<typeof enrol>[] = [];
    for (let count = 0; count < 2; count++) {
      const other = await PasskeyBrowser.open(browser);
      const { options, challenge } = await enrolment();
      created.push([challenge, await other.create(options)]);
      await other.close();
    }
    const answers = await Promise.all(created.map((one) => enrol(...one)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    const full = await service.post('/auth/factor/passkey/options', user);
    expect([full.status, full.body.code]).toEqual([409, 'factor.too_many']);
  });

  it('rejects a credential of another user, a challenge that was used, and one of another session', async () => {
    const other = await PasskeyBrowser.open(browser);
    const { token } = await service.loginAs();
    const { options, challenge } = await enrolment(token);
    const passkey = await other.create(options);
    expect(fault(await enrol(challenge, passkey))).toEqual([400, '/challenge']);
    const id = Buffer.from(passkey.id, 'base64url');
    await service.rows('update second_factors set credential_id = $1 where factor_id = $2', [id, user.factor_id]);
    expect((await enrol(challenge, passkey, token)).body).toMatchObject({
      status: 409,
      code: 'factor.already_enrolled',
    });
    await service.rows('delete from second_factors where factor_id = $1', [user.factor_id]);
    expect((await enrol(challenge, passkey, token)).status).toBe(201);
    expect(fault(await enrol(challenge, passkey, token))).toEqual([400, '/challenge']);
    await other.close();
  });

  /** Returns the faults whose response is not 400 with the pointer of the fault. */
  async function unexpected(path: string, passkey: PasskeyJson, body: object, faults: Fault[]): Promise<unknown[]> {
    const found: unknown[] = [];
    for (const fault of faults) {
      const sent = { token: user.token, body: { ...body, passkey: withFault(passkey, fault) } };
      const answer = await service.send('POST', path, sent);
      const [error] = answer.body.errors ?? [];
      // A wrong id differs from the raw id, which is reported instead.
      const pointers = fault[0] === '/passkey/id' ? [fault[0], '/passkey/rawId'] : [fault[0]];
      if (answer.status !== 400 || !pointers.includes(error?.pointer)) found.push([fault, answer.text]);
    }
    return found;
  }

  it('returns 400 with the member for each malformed member of a login', async () => {
    const { challenge, passkey } = await signLogin(service, device);
    expect(await unexpected('/auth/passkey/login', passkey, { challenge }, loginFaults)).toEqual([]);
    expect(verdict(await login(challenge, passkey))).toEqual([200, user.user_id]);
  });

  it('returns 400 with the member for each malformed member of an enrolment', async () => {
    const { options, challenge } = await enrolment();
    const passkey = await device.create({ ...options, excludeCredentials: [] });
    const body = { name: 'Laptop', challenge };
    expect(await unexpected('/auth/factor/passkey', passkey, body, enrollmentFaults)).toEqual([]);
    expect((await enrol(challenge, passkey)).status).toBe(201);
  });

  it('ignores an attestation, so that no certificate of a client is read', async () => {
    const other = await PasskeyBrowser.open(browser);
    const { options, challenge } = await enrolment();
    const passkey = await other.create({ ...options, attestation: 'direct' });
    const attestation = attestationOf(passkey);
    expect(attestation.get('fmt')).toBe('packed');
    const x5c = [new Uint8Array(Buffer.alloc(500, 0x30))];
    const attStmt = new Map(Object.entries({ alg: -7, sig: new Uint8Array(70), x5c }));
    const attestationObject = cbor(new Map([...attestation, ['attStmt', attStmt]]) as never);
    const forged = { ...passkey, response: { ...passkey.response, attestationObject } };
    expect((await enrol(challenge, forged)).status).toBe(201);
    await other.close();
  });

  it('rejects a passkey whose attested id is not its id, or is longer than 1,023 bytes (M13)', async () => {
    const other = await PasskeyBrowser.open(browser);
    const enrolWith = async (idBytes: number, changesId: boolean) => {
      const { options, challenge } = await enrolment();
      return fault(
        await enrol(challenge, withAttestedId(await other.create(options), randomBytes(idBytes), changesId)),
      );
    };
    const refused = [400, expect.stringMatching(/^\/passkey/)];
    expect(await enrolWith(16, false)).toEqual(refused);
    expect(await enrolWith(1_024, true)).toEqual(refused);
    expect(await enrolWith(3_000, false)).toEqual(refused);
    // Control: with the same id at both places, the longest id works.
    expect(await enrolWith(1_023, true)).toEqual([201, undefined]);
    await other.close();
  });

  it('returns 400 for a passkey that is not a response of a browser, and 401 for a malformed challenge', async () => {
    const many = Object.fromEntries(Array.from({ length: 2_400 }, (_, index) => [`k${index}`, 'x']));
    for (const passkey of [null, 'text', [], 1, many]) {
      const { status, body } = await service.send('POST', '/auth/passkey/login', { body: { challenge: 'x', passkey } });
      expect([status, body.errors?.[0].pointer]).toEqual([400, expect.stringMatching(/^\/passkey/)]);
    }
    const { passkey } = await signLogin(service, device);
    for (const challenge of ['x', '.', 'e30.AAAA', '\u202e', 'x'.repeat(1_024)])
      expect(verdict(await login(challenge, passkey))).toEqual(invalidChallenge);
  });

  it('forgets used challenges an hour after their expiry', async () => {
    await service.rows('delete from used_passkey_challenges');
    await service.rows(`
      insert into used_passkey_challenges (challenge_hash, expires_at)
      select sha256(convert_to(n::text, 'UTF8')), now() - n * interval '50 minutes'
      from generate_series(1, 1500) n`);
    await service.inside<PasskeysService>('PasskeysService').forgetChallenges();
    expect(await service.rows('select 1 from used_passkey_challenges')).toHaveLength(1);
  });

  it('lists the origins of passkeys at the root of the host, outside BASE_PATH', async () => {
    const WEBAUTHN_ORIGINS = 'https://portal.example.net,https://Console.example.net:443';
    const instance = await ServiceProcess.beside(service, { BASE_PATH: '/identity', WEBAUTHN_ORIGINS });
    const { statusCode, headers, body } = await instance.inject('/.well-known/webauthn');
    expect([statusCode, JSON.parse(body)]).toEqual([
      200,
      { origins: ['https://portal.example.net', 'https://console.example.net'] },
    ]);
    expect(headers).toMatchObject({ 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' });
    expect((await instance.inject('/identity/.well-known/webauthn')).statusCode).toBe(404);
    expect((await instance.inject({ method: 'POST', url: '/.well-known/webauthn' })).statusCode).toBe(405);
    expect((await instance.post('/identity/auth/passkey/options')).body.options.rpId).toBe('localhost');
    await instance.stop();
  });

  it('turns passkeys off at an IP address, says why, and still asks for a second factor', async () => {
    const instance = await ServiceProcess.beside(service, { PUBLIC_URL: 'https://192.0.2.7', WEBAUTHN_ORIGINS: '' });
    const { token } = await instance.login((await service.createUser()).name);
    expect((await instance.get('/.well-known/webauthn')).body).toEqual({ origins: [] });
    for (const path of ['/auth/passkey/options', '/auth/factor/passkey/options', '/auth/reauthenticate/options']) {
      const answer = await instance.post(path, { token });
      expect([path, answer.status, answer.body.code]).toEqual([path, 404, 'request.not_found']);
      expect(answer.body.detail).toMatch(/^Passkeys are off: .*WEBAUTHN_RP_ID/);
    }
    await expectNoPasskeyOffered(instance, 'localhost');
    await instance.stop();
  });

  it('offers no passkey of another RP id', () => expectNoPasskeyOffered(service, 'portal.example.net'));

  /** Expects that a login of the owner of a passkey for an RP id offers only the other factors. */
  async function expectNoPasskeyOffered(instance: ServiceProcess, rp_id: string): Promise<void> {
    const owner = await service.loginAs();
    const { factor_id, recovery_codes } = await enrolApp(service, owner);
    await addPasskeyRows(owner.user_id, rp_id, 1);
    const body = { login: owner.name, password };
    const withApp = await instance.post('/auth/login', { body });
    expect([withApp.status, withApp.body.factors]).toEqual([401, ['totp', 'recovery_code']]);
    expect((await service.delete(`/auth/factor/${factor_id}`, owner)).status).toBe(204);
    const without = await instance.post('/auth/login', { body });
    expect(without.body).toMatchObject({ code: 'auth.second_factor_required', factors: ['recovery_code'] });
    const proof = { challenge: without.body.challenge, recovery_code: recovery_codes[0] };
    expect((await instance.post('/auth/second-factor', { body: proof })).status).toBe(200);
  }
});
