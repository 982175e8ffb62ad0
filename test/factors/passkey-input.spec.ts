import { randomBytes } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';
import type { Browser } from 'playwright-core';
import { openBrowser } from '../support/browser';
import {
  optionsOf,
  PasskeyBrowser,
  passkeyOrigin,
  type PasskeyHolder,
  passkeyHolder,
  type PasskeyJson,
} from '../support/passkeys';
import type { PasskeysService } from '../../src/auth/second-factors/passkeys/passkeys.service';
import { enrolApp } from '../support/factors';
import { password, TestService } from '../support/service';

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

/** Returns a new passkey with another attested id, and if told so, with the same `id`. */
function withAttestedId(passkey: PasskeyJson, id: Buffer, changesId: boolean): PasskeyJson {
  const attestation = isoCBOR.decodeFirst<Map<string, unknown>>(
    new Uint8Array(Buffer.from(passkey.response['attestationObject'] as string, 'base64url')),
  );
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

describe('malformed passkeys', () => {
  let service: TestService;
  let browser: Browser;
  let device: PasskeyBrowser;
  let user: PasskeyHolder;
  beforeAll(async () => {
    service = await TestService.start();
    browser = await openBrowser();
    device = await PasskeyBrowser.open(browser);
    user = await passkeyHolder(service, device);
  });
  afterAll(async () => {
    await browser.close();
    await service.close();
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
    const { options, challenge } = await optionsOf(service, '/auth/passkey/options');
    const passkey = await device.get(options);
    expect(await unexpected('/auth/passkey/login', passkey, { challenge }, loginFaults)).toEqual([]);
    expect((await service.post('/auth/passkey/login', { body: { challenge, passkey } })).status).toBe(200);
  });

  it('returns 400 with the member for malformed members of a reauthentication', async () => {
    const { options, challenge } = await optionsOf(service, '/auth/reauthenticate/options', { token: user.token });
    const passkey = await device.get(options);
    expect(
      await unexpected(
        '/auth/reauthenticate',
        passkey,
        { challenge },
        loginFaults.filter((_, index) => index % 20 === 0),
      ),
    ).toEqual([]);
  });

  it('returns 400 with the member for each malformed member of an enrolment', async () => {
    const { token } = user;
    const { options, challenge } = await optionsOf(service, '/auth/factor/passkey/options', { token });
    const passkey = await device.create({ ...options, excludeCredentials: [] });
    const body = { name: 'Laptop', challenge };
    expect(await unexpected('/auth/factor/passkey', passkey, body, enrollmentFaults)).toEqual([]);
    expect((await service.post('/auth/factor/passkey', { token, body: { ...body, passkey } })).status).toBe(201);
  });

  it('ignores an attestation, so that no certificate of a client is read', async () => {
    const { token } = user;
    const other = await PasskeyBrowser.open(browser);
    const { options, challenge } = await optionsOf(service, '/auth/factor/passkey/options', { token });
    const passkey = await other.create({ ...options, attestation: 'direct' });
    const attestation = isoCBOR.decodeFirst<Map<string, unknown>>(
      new Uint8Array(Buffer.from(passkey.response['attestationObject'] as string, 'base64url')),
    );
    expect(attestation.get('fmt')).toBe('packed');
    const x5c = [new Uint8Array(Buffer.alloc(500, 0x30))];
    const attStmt = new Map<string, unknown>([
      ['alg', -7],
      ['sig', new Uint8Array(70)],
      ['x5c', x5c],
    ]);
    const attestationObject = cbor(new Map([...attestation, ['attStmt', attStmt]]) as never);
    const body = {
      name: 'Key',
      challenge,
      passkey: { ...passkey, response: { ...passkey.response, attestationObject } },
    };
    expect((await service.post('/auth/factor/passkey', { token, body })).status).toBe(201);
    await other.close();
  });

  it('rejects a passkey whose attested id is not its id, or is longer than 1,023 bytes (M13)', async () => {
    const { token } = user;
    const other = await PasskeyBrowser.open(browser);
    for (const [idBytes, changesId] of [
      [16, false],
      [1_024, false],
      [1_024, true],
      [3_000, false],
    ] as const) {
      const { options, challenge } = await optionsOf(service, '/auth/factor/passkey/options', { token });
      const passkey = withAttestedId(await other.create(options), randomBytes(idBytes), changesId);
      const answer = await service.post('/auth/factor/passkey', { token, body: { name: 'Key', challenge, passkey } });
      expect([idBytes, answer.status, answer.body.errors?.[0].pointer]).toEqual([
        idBytes,
        400,
        expect.stringMatching(/^\/passkey/),
      ]);
    }
    // Control: with the same id at both places, the longest id works.
    const { options, challenge } = await optionsOf(service, '/auth/factor/passkey/options', { token });
    const passkey = withAttestedId(await other.create(options), randomBytes(1_023), true);
    const answer = await service.post('/auth/factor/passkey', { token, body: { name: 'Key', challenge, passkey } });
    expect(answer.status).toBe(201);
    await other.close();
  });

  it.each([null, 'text', [], 1, Object.fromEntries(Array.from({ length: 2_400 }, (_, index) => [`k${index}`, 'x']))])(
    'returns 400 for a passkey that is no response of a browser',
    async (passkey) => {
      const { status, body } = await service.send('POST', '/auth/passkey/login', { body: { challenge: 'x', passkey } });
      expect([status, body.errors?.[0].pointer.startsWith('/passkey')]).toEqual([400, true]);
    },
  );

  it.each(['x', '.', 'e30.AAAA', '\u202e', 'x'.repeat(1_024)])(
    'returns 401 for the challenge %j',
    async (challenge) => {
      const { options } = await optionsOf(service, '/auth/passkey/options');
      const answer = await service.post('/auth/passkey/login', {
        body: { challenge, passkey: await device.get(options) },
      });
      expect([answer.status, answer.body.code]).toEqual([401, 'auth.challenge_invalid']);
    },
  );

  it('forgets used challenges an hour after their expiry', async () => {
    await service.rows('delete from used_passkey_challenges');
    await service.rows(`
      insert into used_passkey_challenges (challenge_hash, expires_at)
      select sha256(convert_to(n::text, 'UTF8')), now() - n * interval '50 minutes'
      from generate_series(1, 1500) n`);
    await service.inside<PasskeysService>('PasskeysService').forgetChallenges();
    expect(await service.rows('select 1 from used_passkey_challenges')).toHaveLength(1);
  });

  it('takes the RP id and the origin from PUBLIC_URL by default, and offers no passkey of another one', async () => {
    expect((await service.get('/.well-known/webauthn')).body).toEqual({ origins: [passkeyOrigin] });
    expect((await service.post('/auth/passkey/options')).body.options.rpId).toBe('localhost');
    await expectNoPasskeyOffered(service, 'portal.example.net');
  });
});

describe('the settings of passkeys', () => {
  let service: TestService;
  afterEach(() => service.close());

  it('lists the origins of passkeys at the root of the host, outside BASE_PATH', async () => {
    service = await TestService.start({
      ADMIN_PASSWORD: '',
      BASE_PATH: '/identity',
      WEBAUTHN_ORIGINS: 'https://portal.example.net,https://Console.example.net:443',
    });
    const { statusCode, headers, body } = await service.inject('/.well-known/webauthn');
    expect([statusCode, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      'application/json; charset=utf-8',
      'no-store',
    ]);
    expect(JSON.parse(body)).toEqual({ origins: ['https://portal.example.net', 'https://console.example.net'] });
    expect((await service.inject('/identity/.well-known/webauthn')).statusCode).toBe(404);
    expect((await service.inject({ method: 'POST', url: '/.well-known/webauthn' })).statusCode).toBe(405);
    const options = await service.post('/identity/auth/passkey/options');
    expect(options.status).toBe(200);
  });

  it('turns passkeys off at an IP address, says why, and still asks for a second factor', async () => {
    service = await TestService.start({ PUBLIC_URL: 'https://192.0.2.7' });
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
    await expectNoPasskeyOffered(service, 'localhost');
  });
});

/** Expects that a login with a passkey of an RP id offers the other factors only. */
async function expectNoPasskeyOffered(service: TestService, rp_id: string): Promise<void> {
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
}
