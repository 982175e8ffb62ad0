import { availableParallelism } from 'node:os';
import { hash, type Options } from '@node-rs/argon2';
import { shareOf } from '../../platform/instance';
import { HashQueue } from './hash-queue';
import { workOf } from './hash-work';
import { type HashCost, md5Mark, readHash } from './stored-hash';

/** Minimum for Argon2id in the OWASP Password Storage Cheat Sheet. Hashes name their parameters. */
const parameters: Options = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const current = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/;

/** One core stays free for other requests while passwords are hashed. */
const runningMax = shareOf(availableParallelism() - 1);
const queue = new HashQueue({
  runningMax,
  loginsWaitingMax: shareOf(64),
  loginsInARowMax: 3,
  newPasswordsMax: shareOf(32),
  patienceMs: 10_000,
  newPasswordsPerActorMax: shareOf(8),
});

/**
 * Hashes a new password.
 * @param actor identifies the actor, who has a limited share of the queue
 * @throws request.rate_limited, service.overloaded
 */
export function hashPassword(password: string, actor: string): Promise<string> {
  return queue.runNewPassword(actor, () => hash(password, parameters));
}

/** Hashes the right password of a login with the current parameters. @throws service.overloaded */
export function rehashPassword(password: string): Promise<string> {
  return queue.runLogin(() => hash(password, parameters));
}

/**
 * Verifies a password exactly as it was sent. Takes one place of the queue.
 * A rejection takes the same work for every stored hash, and for `null` (no password). A right
 * password skips the padding, unless the user is rejected anyway.
 * @param costs costs of the forms of stored hashes of other systems, see `costsOf`
 * @throws service.overloaded
 */
export function verifyPassword(
  password: string,
  passwordHash: string | null,
  costs: HashCost[],
  isRejected = false,
): Promise<boolean> {
  return queue.runLogin(async () => {
    let isRight = false;
    for (const text of workOf(passwordHash, costs)) {
      const stored = readHash(text);
      const matches = typeof stored !== 'string' && (await stored.verify(password));
      // eslint-disable-next-line house/secret-compares -- compares the stored hash with a dummy
      isRight ||= matches && text === passwordHash;
      if (isRight && !isRejected) break;
    }
    return isRight;
  });
}

/**
 * Wraps the MD5 of a password inside Argon2id.
 * Slow on purpose, and waits without limit: never call it in a transaction.
 */
export async function wrapMd5(md5: string): Promise<string> {
  return `${md5Mark}${await queue.runInBackground(() => hash(md5.toLowerCase(), parameters))}`;
}

/** Returns whether a hash has other parameters than a new hash, so that a login replaces it. */
export function needsRehash(passwordHash: string): boolean {
  return !current.test(passwordHash);
}
