import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { decodeAttestationObject, isoBase64URL, isoCBOR, parseAuthenticatorData } from '@simplewebauthn/server/helpers';
import { invalid, limitFault } from '../../../http/errors/app-error';

/** A JSON object, such as a passkey response as a browser sends it. */
export type JsonObject = Record<string, unknown>;

/** The response of a browser to a challenge, with the challenge that it contains. */
export interface PasskeyAssertion {
  response: AuthenticationResponseJSON;
  /** text of the challenge; not verified */
  challenge: string;
}

// In characters. The longest id has 1,023 bytes, the limit of WebAuthn. CBOR is decoded
// recursively, so its length also limits the depth of the stack.
const idMax = 1_364;
const clientDataMax = 4_096;
const authenticatorDataMax = 4_096;
const attestationMax = 16_384;
const signatureMax = 2_048;
const userHandleMax = 128;
const transportsMax = 8;

const base64UrlForm = /^[A-Za-z0-9_-]+$/;
const transportForm = /^[a-z0-9-]{1,32}$/;
const root = '/passkey';

/**
 * Reads the result of `navigator.credentials.get()`. Ignores members that this service does not
 * need, because browsers add new ones.
 * @throws request.invalid naming the malformed member
 */
export function readAssertion(passkey: JsonObject): PasskeyAssertion {
  const { id, response } = readCredential(passkey);
  const at = `${root}/response`;
  const clientDataJSON = base64Url(response, 'clientDataJSON', at, clientDataMax);
  const authenticatorData = base64Url(response, 'authenticatorData', at, authenticatorDataMax);
  const signature = base64Url(response, 'signature', at, signatureMax);
  const { challenge } = decode(`${at}/clientDataJSON`, () => clientDataOf(clientDataJSON));
  decode(`${at}/authenticatorData`, () => parseAuthenticatorData(isoBase64URL.toBuffer(authenticatorData)));
  const userHandle =
    (response['userHandle'] ?? null) === null
      ? {}
      : { userHandle: base64Url(response, 'userHandle', at, userHandleMax) };
  return {
    response: {
      ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
      response: { clientDataJSON, authenticatorData, signature, ...userHandle },
    },
    challenge: Buffer.from(challenge, 'base64url').toString(),
  };
}

/**
 * Reads the result of `navigator.credentials.create()`.
 * Drops an attestation: the service requests none, and verifying certificates that a client chose
 * would be a risk without a use.
 * @throws request.invalid naming the malformed member
 */
export function readRegistration(passkey: JsonObject): RegistrationResponseJSON {
  const { id, response } = readCredential(passkey);
  const at = `${root}/response`;
  const clientDataJSON = base64Url(response, 'clientDataJSON', at, clientDataMax);
  const attestation = base64Url(response, 'attestationObject', at, attestationMax);
  decode(`${at}/clientDataJSON`, () => clientDataOf(clientDataJSON));
  const attestationObject = decode(`${at}/attestationObject`, () => withoutAttestation(attestation));
  const transports = readTransports(response['transports'], `${at}/transports`);
  return {
    ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
    response: { clientDataJSON, attestationObject, transports },
  };
}

function readCredential(passkey: JsonObject): { id: string; response: JsonObject } {
  const id = base64Url(passkey, 'id', root, idMax);
  const rawId = base64Url(passkey, 'rawId', root, idMax);
  if (rawId !== id) throw malformed(`${root}/rawId`, 'must be the same as `id`');
  if (passkey['type'] !== 'public-key') throw malformed(`${root}/type`, 'must be `public-key`');
  const response = passkey['response'];
  if (typeof response !== 'object' || response === null || Array.isArray(response))
    throw invalid({ pointer: `${root}/response`, code: 'field.wrong_type', detail: 'must be an object' });
  return { id, response: response as JsonObject };
}

function readTransports(value: unknown, pointer: string): string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw invalid({ pointer, code: 'field.wrong_type', detail: 'must be an array' });
  if (value.length > transportsMax) throw invalid({ pointer, ...limitFault('field.too_many', { max: transportsMax }) });
  const isTransport = (item: unknown): item is string => typeof item === 'string' && transportForm.test(item);
  if (!value.every(isTransport)) throw malformed(pointer, 'must be names of transports, such as `internal`');
  return value;
}

function base64Url(source: JsonObject, name: string, at: string, max: number): string {
  const pointer = `${at}/${name}`;
  const value = source[name];
  if (value === undefined) throw invalid({ pointer, code: 'field.required', detail: 'is required' });
  if (typeof value !== 'string') throw invalid({ pointer, code: 'field.wrong_type', detail: 'must be a string' });
  if (value.length > max) throw invalid({ pointer, ...limitFault('field.too_long', { max }) });
  if (!base64UrlForm.test(value) || value.length % 4 === 1) throw malformed(pointer, 'must be base64url');
  return value;
}

function clientDataOf(text: string): { challenge: string } {
  const data: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
  const { type, challenge, origin, crossOrigin } = data as JsonObject;
  if (typeof type !== 'string' || typeof challenge !== 'string' || typeof origin !== 'string')
    throw new TypeError('members are missing');
  // A page of another origin may frame the page and make the user click (clickjacking).
  if (crossOrigin === true) throw new TypeError('the page was in a frame of another origin');
  return { challenge };
}

function withoutAttestation(text: string): string {
  const authData = decodeAttestationObject(isoBase64URL.toBuffer(text)).get('authData');
  parseAuthenticatorData(authData);
  const stripped = new Map<string, string | Uint8Array | Map<string, string>>([
    ['fmt', 'none'],
    ['attStmt', new Map()],
    ['authData', authData],
  ]);
  return isoBase64URL.fromBuffer(isoCBOR.encode(stripped));
}

/** Decodes a member. Any failure, such as an overflow of the stack, means that it is malformed. */
function decode<Value>(pointer: string, work: () => Value): Value {
  try {
    return work();
  } catch {
    throw malformed(pointer, 'cannot be decoded');
  }
}

function malformed(pointer: string, detail: string): Error {
  return invalid({ pointer, code: 'field.malformed', detail });
}
