import { clockToleranceSeconds } from '../../platform/clock';
import { accessTokenLifeMaxSeconds } from '../../platform/config/settings';
import type { SigningKeyRecord } from './signing-keys.repository';

/** Seconds between two loads of the keys, in case a notification is lost. */
export const reloadEverySeconds = 30;

/**
 * Minimum seconds between the publication of a key and its first signature.
 * Covers the next load of every instance (30 s), a rotation that waits for its lock and a load that
 * waits for a connection (5 s each), and a reserve of 5 s. External verifiers fetch the JWKS again
 * for an unknown `kid`, but an HTTP cache may return the old JWKS for up to 5 minutes.
 */
export const publishedBeforeSeconds = reloadEverySeconds + 15;

/** Seconds for which a key signs before its successor is created. */
export const rotateAfterSeconds = 29 * 86_400;

/** Seconds between the publication of a regular successor and its first signature. */
export const announcedBeforeSeconds = 86_400;

const verifiesForSeconds = publishedBeforeSeconds + accessTokenLifeMaxSeconds + clockToleranceSeconds;
const keptForSeconds = verifiesForSeconds + 30 * 86_400;

/**
 * Returns whether a key verifies tokens. It does so until an instance that loads the successor late
 * has stopped signing, and for the maximum lifetime of the last token.
 */
export function verifies({ successor_in_ms }: SigningKeyRecord): boolean {
  return successor_in_ms === null || successor_in_ms > -verifiesForSeconds * 1_000;
}

/**
 * Returns whether the row of a key is kept: 30 days longer than the key verifies tokens.
 * Until then, an idle client may send an expired access token of this key with its refresh token.
 */
export function isKept({ successor_in_ms }: SigningKeyRecord): boolean {
  return successor_in_ms === null || successor_in_ms > -keptForSeconds * 1_000;
}
