import { clockToleranceSeconds } from '../common/clock';
import { accessTokenLifeMaxSeconds } from '../config/settings';

/** An instance looks for new keys this often, should nothing have told it of them. */
export const reloadEverySeconds = 30;

/**
 * A key is published at least this long before it signs: until the next load of every instance
 * begins (30 s), and for a rotation that waits for its lock and a load that waits for a connection
 * (5 s each), with as much to spare. Verifiers elsewhere fetch the JWKS anew at most every 30 s,
 * too.
 */
export const publishedBeforeSeconds = reloadEverySeconds + 15;

/** A key signs for so long before its successor is made. */
export const rotateAfterSeconds = 29 * 86_400;

/** A successor that is made in time is published for so long before it signs. */
export const announcedBeforeSeconds = 86_400;

/**
 * A key verifies for so long after its successor began to sign: an instance may learn of that late,
 * and then the longest-lived token must still expire.
 */
export const verifiesForSeconds = publishedBeforeSeconds + accessTokenLifeMaxSeconds + clockToleranceSeconds;

/**
 * Seconds for which the row of a retired key is kept: 30 days longer than the key verifies. An idle
 * client may send an expired access token of this key beside its refresh token.
 */
export const keptForSeconds = verifiesForSeconds + 30 * 86_400;
