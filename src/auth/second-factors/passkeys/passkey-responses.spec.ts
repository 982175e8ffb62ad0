import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';
import type { AppError } from '../../../http/errors/app-error';
import { type JsonObject, readAssertion, readRegistration } from './passkey-responses';
import { verifyAssertion, verifyRegistration } from './passkey-verification';

const party = { rp_id: 'id.example', origins: ['https://id.example', 'https://portal.example'] };
const challenge = 'payload.signature';
const [id, model] = [Buffer.alloc(16, 7), Buffer.alloc(16, 9)];
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const jwk = publicKey.export({ format: 'jwk' });
const [x, y] = [jwk.x, jwk.y].map((part) => new Uint8Array(Buffer.from(part ?? '', 'base64url')));
const cose = isoCBOR.encode(
  new Map<number, number | Uint8Array>([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, x!],
    [-3, y!],
  ]),
);
const text = (bytes: Uint8Array | string) => Buffer.from(bytes).toString('base64url');
const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest();

/** What an authenticator and the page do; the flags are those of WebAuthn §6.1. */
type Device = { challenge?: string; client?: object; rp?: string; flags?: number; model?: Buffer; counter?: number };

function sent(type: string, usual: number, device: Device) {
  const { challenge: signed = challenge, rp = 'id.example', flags = usual, counter = 5 } = device;
  const client = { type, challenge: text(signed), origin: 'https://portal.example', ...device.client };
  const data = Buffer.concat([sha256(rp), Buffer.from([flags, 0, 0, 0, counter])]);
  const common = { id: text(id), rawId: text(id), type: 'public-key', more: 1 };
  return { clientDataJSON: text(JSON.stringify(client)), client: JSON.stringify(client), data, common };
}

function register(device: Device = {}): JsonObject & { response: JsonObject } {
  const { clientDataJSON, data, common } = sent('webauthn.create', 0x45, device);
  const authData = Buffer.concat([data, device.model ?? model, Buffer.from([0, 16]), id, cose]);
  const attestation = new Map<string, string | Uint8Array | Map<string, string>>();
  attestation
    .set('fmt', 'packed')
    .set('attStmt', new Map([['alg', 'x']]))
    .set('authData', new Uint8Array(authData));
  const attestationObject = text(isoCBOR.encode(attestation));
  return { ...common, response: { clientDataJSON, attestationObject, transports: ['internal'], more: 1 } };
}

function login(device: Device = {}): JsonObject & { response: JsonObject } {
  const { clientDataJSON, client, data, common } = sent('webauthn.get', 0x05, device);
  const signature = text(sign('sha256', Buffer.concat([data, sha256(client)]), privateKey));
  return { ...common, response: { clientDataJSON, authenticatorData: text(data), signature, more: 1 } };
}

/** Returns the pointer, the code and the limits of the error. */
function faultOf(read: (passkey: JsonObject) => unknown, passkey: JsonObject, member: string, value: unknown) {
  const [name = '', inner] = member.split('/');
  const changed = inner === undefined ? value : { ...(passkey['response'] as JsonObject), [inner]: value };
  try {
    read({ ...passkey, [name]: changed });
    return null;
  } catch (error) {
    const [{ pointer, code, params } = {} as never] = (error as AppError).extras.errors ?? [];
    return [pointer, code, ...Object.values(params ?? {})];
  }
}

describe('the response of a passkey', () => {
  it('is read without members that the service does not need, and without attestation', () => {
    const { response, ...common } = login();
    const used = { id: text(id), rawId: text(id), type: 'public-key', clientExtensionResults: {} };
    const members = { ...response };
    delete members['more'];
    expect(readAssertion({ ...common, response })).toEqual({ response: { ...used, response: members }, challenge });
    const withHandle = { ...common, response: { ...response, userHandle: 'AAAA' } };
    expect(readAssertion(withHandle).response.response.userHandle).toBe('AAAA');
    const registration = readRegistration(register());
    expect(registration).toMatchObject({ ...used, response: { transports: ['internal'] } });
    const stripped = Buffer.from(registration.response.attestationObject, 'base64url').toString('latin1');
    expect([stripped.includes('packed'), stripped.includes('none')]).toEqual([false, true]);
    expect(registration.response).not.toHaveProperty('more');
  });

  const malformed = 'field.malformed';
  const client = (data: unknown) => text(JSON.stringify(data));
  const complete = { type: 'webauthn.get', challenge: 'AA', origin: 'https://id.example' };
  const common: [member: string, value: unknown, ...fault: unknown[]][] = [
    ['id', undefined, 'field.required'],
    ['id', 7, 'field.wrong_type'],
    ['id', 'A'.repeat(1_365), 'field.too_long', 1_364],
    ['id', 'a+b/', malformed],
    ['id', '=AAA', malformed],
    ['id', 'AAA=', malformed],
    ['id', 'AAAAA', malformed],
    ['rawId', 'A'.repeat(1_364), malformed],
    ['type', 'password', malformed],
    ...[undefined, null, 'text', []].map((value) => ['response', value, 'field.wrong_type'] as never),
    ['response/clientDataJSON', 'A'.repeat(4_097), 'field.too_long', 4_096],
    ...[null, {}, { ...complete, type: 1 }, { ...complete, challenge: 1 }, { ...complete, origin: 1 }].map(
      (data) => ['response/clientDataJSON', client(data), malformed] as never,
    ),
    ['response/clientDataJSON', client({ ...complete, crossOrigin: true }), malformed],
  ];
  it.each<(typeof common)[number]>([
    ...common,
    ['response/authenticatorData', 'A'.repeat(4_097), 'field.too_long', 4_096],
    ['response/authenticatorData', 'AA', malformed],
    ['response/signature', 'A'.repeat(2_049), 'field.too_long', 2_048],
    ['response/userHandle', 'A'.repeat(129), 'field.too_long', 128],
  ])('of a login is rejected for %s: %j', (member, value, ...fault) => {
    expect(faultOf(readAssertion, login(), member, value)).toEqual([`/passkey/${member}`, ...fault]);
  });

  it.each<(typeof common)[number]>([
    ...common,
    ['response/attestationObject', 'A'.repeat(16_385), 'field.too_long', 16_384],
    ['response/attestationObject', 'AA', malformed],
    ['response/transports', 'usb', 'field.wrong_type'],
    ['response/transports', Array(9).fill('usb'), 'field.too_many', 8],
    ...['', 'USB', 'u sb', 'usb ', 'x'.repeat(33), 1].map(
      (item) => ['response/transports', ['usb', item], malformed] as never,
    ),
  ])('of an enrolment is rejected for %s: %j', (member, value, ...fault) => {
    expect(faultOf(readRegistration, register(), member, value)).toEqual([`/passkey/${member}`, ...fault]);
  });

  it.each([
    [undefined, []],
    [null, []],
    [Array(8).fill('x'.repeat(32)), Array(8).fill('x'.repeat(32))],
  ])('of an enrolment may have the transports %j', (transports, read) => {
    const { response, ...common } = register();
    expect(readRegistration({ ...common, response: { ...response, transports } }).response.transports).toEqual(read);
  });
});

const wrong: [string, Device][] = [
  ['another challenge', { challenge: 'other' }],
  ['another origin', { client: { origin: 'https://evil.example' } }],
  ['another type', { client: { type: 'payment.get' } }],
  ['another relying party', { rp: 'evil.example' }],
];

describe('the verification of a passkey', () => {
  const stored = { public_key: Buffer.from(cose), backup_eligible: false } as never;
  const verify = (device: Device, passkey = stored, changes: object = {}) => {
    const { response } = readAssertion(login(device));
    return verifyAssertion({ ...response, response: { ...response.response, ...changes } }, challenge, passkey, party);
  };
  const enrol = (device: Device, changes: object = {}) =>
    verifyRegistration({ ...readRegistration(register(device)), ...changes }, challenge, party);

  it('returns the counter of a login', async () => {
    expect(await verify({})).toBe(5);
    expect(await verify({ counter: 0 })).toBe(0);
    const backedUp = { ...(stored as object), backup_eligible: true } as never;
    expect([await verify({ flags: 0x0d }, backedUp), await verify({}, backedUp)]).toEqual([5, null]);
  });

  it.each([...wrong, ['no verification of the user', { flags: 0x01 }], ['a change of the backup', { flags: 0x0d }]])(
    'rejects a login with %s',
    async (_title, device) => expect(await verify(device)).toBeNull(),
  );

  it('rejects a login with another signature or key', async () => {
    const other = login({ counter: 6 }).response['signature'];
    expect(await verify({}, stored, { signature: other })).toBeNull();
    expect(await verify({}, { public_key: Buffer.alloc(4), backup_eligible: false } as never)).toBeNull();
  });

  it.each<[Device, object]>([
    [{}, { aaguid: '09090909-0909-0909-0909-090909090909', backup_eligible: false }],
    [
      { model: Buffer.alloc(16), flags: 0x4d },
      { aaguid: null, backup_eligible: true },
    ],
  ])('returns the passkey of an enrolment: %j', async (device, described) => {
    const key = { credential_id: id, public_key: Buffer.from(cose), signature_counter: 5, rp_id: 'id.example' };
    expect(await enrol(device)).toEqual({ ...key, transports: ['internal'], ...described });
  });

  it.each([...wrong, ['no verification of the user', { flags: 0x41 }]])(
    'rejects an enrolment with %s',
    async (_title, device) => expect(await enrol(device)).toBeNull(),
  );

  it('rejects an enrolment whose id is not the attested id', async () => {
    expect(await enrol({}, { id: text('other'), rawId: text('other') })).toBeNull();
  });
});
