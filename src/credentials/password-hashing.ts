import { availableParallelism } from 'node:os';
import { hash, type Options, verify } from '@node-rs/argon2';
import { AppError } from '../common/errors/app-error';
import { md5Mark, readHash } from './stored-hash';

/** Argon2id by the minimum of the OWASP Password Storage Cheat Sheet; the parameters travel in the hash. */
const parameters: Options = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const current = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/;
/** Of no password: verifying against it costs what verifying against a real one costs. */
const dummy = '$argon2id$v=19$m=19456,t=2,p=1$VGhpc0lzTm9TYWx0QXRBbGw$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

/** One core stays free for everybody else while passwords are hashed. */
const inFlightMax = Math.max(1, availableParallelism() - 1);
const waitingMax = 64;
let inFlight = 0;
const waiting: (() => void)[] = [];

/** Hashes a password. @throws service.overloaded when too many are waiting */
export function hashPassword(password: string): Promise<string> {
  return bounded(() => hash(password, parameters));
}

/**
 * Verifies a password exactly as it was sent; `null` as hash takes as long and is never right (no enumeration by time).
 * A hash of another kind costs what an own one costs besides, so that it is no shorter.
 */
export function verifyPassword(password: string, passwordHash: string | null): Promise<boolean> {
  return bounded(async () => {
    const own = passwordHash !== null && !needsRehash(passwordHash);
    const right = await verify(own ? passwordHash : dummy, password);
    if (own || passwordHash === null) return own && right;
    const stored = readHash(passwordHash);
    return typeof stored !== 'string' && stored.verify(password);
  });
}

/** Wraps the MD5 of a password inside Argon2id, so that it is worth as little to a thief as any other hash. Waits for its turn as long as it takes. */
export async function wrapMd5(md5: string): Promise<string> {
  return `${md5Mark}${await bounded(() => hash(md5.toLowerCase(), parameters), true)}`;
}

/** Whether a hash has other parameters than those in force, so that the next login replaces it. */
export function needsRehash(passwordHash: string): boolean {
  return !current.test(passwordHash);
}

/** Hashing in flight decides everybody's latency: a flood of logins waits here, and beyond that it is turned away, unless it is `patient`. */
async function bounded<T>(work: () => Promise<T>, patient = false): Promise<T> {
  if (inFlight >= inFlightMax) {
    if (waiting.length >= waitingMax && !patient) throw new AppError('service.overloaded');
    await new Promise<void>((resolve) => waiting.push(resolve));
  } else inFlight++;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next === undefined) inFlight--;
    else next();
  }
}
