import {
  type AuthenticationResponseJSON,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { COSEALG } from '@simplewebauthn/server/helpers';
import type { NewPasskey, StoredPasskey } from './passkeys.repository';

/** The service as browsers know it. */
export interface RelyingParty {
  rp_id: string;
  /** origins of the pages that may use passkeys */
  origins: string[];
}

/**
 * Signature algorithms of passkeys (COSE). Fixed, because the default of the library depends on the
 * version of Node.
 */
export const passkeyAlgorithms = [COSEALG.EdDSA, COSEALG.ES256, COSEALG.RS256];

const noModel = '00000000-0000-0000-0000-000000000000';

/**
 * Returns the passkey of a response, or null if the response does not belong to the challenge or
 * the relying party, the user was not verified, or the attested id is not the id of the response.
 */
export async function verifyRegistration(
  response: RegistrationResponseJSON,
  challenge: string,
  { rp_id, origins }: RelyingParty,
): Promise<NewPasskey | null> {
  const verification = verifyRegistrationResponse({
    response,
    expectedChallenge: encodeText(challenge),
    expectedOrigin: origins,
    expectedRPID: rp_id,
    requireUserVerification: true,
    supportedAlgorithmIDs: passkeyAlgorithms,
  });
  const { registrationInfo } = (await orNull(verification)) ?? {};
  if (registrationInfo === undefined) return null;
  const { credential, aaguid, credentialDeviceType } = registrationInfo;
  // The browser would never find the passkey again. Only the id of the response has a limit.
  if (credential.id !== response.id) return null;
  return {
    credential_id: Buffer.from(credential.id, 'base64url'),
    public_key: Buffer.from(credential.publicKey),
    signature_counter: credential.counter,
    transports: credential.transports ?? [],
    rp_id,
    aaguid: aaguid === noModel ? null : aaguid,
    backup_eligible: credentialDeviceType === 'multiDevice',
  };
}

/**
 * Returns the signature counter of a response with a right signature, or null for any other
 * response.
 * The library would compare the counter before it verifies the signature. It gets 0 as the stored
 * counter, so that a forged response cannot report a counter that went back (M13). The update of
 * the stored counter compares it.
 */
export async function verifyAssertion(
  response: AuthenticationResponseJSON,
  challenge: string,
  { public_key, backup_eligible }: StoredPasskey,
  { rp_id, origins }: RelyingParty,
): Promise<number | null> {
  const verification = verifyAuthenticationResponse({
    response,
    expectedChallenge: encodeText(challenge),
    expectedOrigin: origins,
    expectedRPID: rp_id,
    credential: { id: response.id, publicKey: new Uint8Array(public_key), counter: 0 },
    requireUserVerification: true,
  });
  const result = await orNull(verification);
  if (result?.verified !== true) return null;
  const { credentialDeviceType, newCounter } = result.authenticationInfo;
  // A passkey never changes whether it may be backed up (WebAuthn §7.2).
  return (credentialDeviceType === 'multiDevice') === backup_eligible ? newCounter : null;
}

/** Resolves to null after an error: the library throws for each response that it rejects. */
async function orNull<Result>(verification: Promise<Result>): Promise<Result | null> {
  try {
    return await verification;
  } catch {
    return null;
  }
}

/** Returns a challenge as browsers repeat it. */
function encodeText(challenge: string): string {
  return Buffer.from(challenge).toString('base64url');
}
