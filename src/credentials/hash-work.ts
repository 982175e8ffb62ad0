import { type HashCost, readHash } from './stored-hash';

/** What verifying an own hash or a wrapped MD5 computes (`parameters` in password-hashing.ts). */
const ownComputation = 'argon2id$v=19$m=19456,t=2,p=1';
/** Salt and hash of every dummy: 16 zero bytes each, of no password. */
const zeros = 'A'.repeat(22);
const ownDummy = `$${ownComputation}$${zeros}$${zeros}`;

/**
 * Returns the hashes that a refused password is verified against, in this order.
 * Their work is the same for every user (OWASP ASVS 6.3.8, L19): one own Argon2id, and of each
 * computation in `costs` as much as its costliest stored hash takes.
 * All but the user's own hash are dummies, which depend on nothing but `costs`.
 */
export function workOf(passwordHash: string | null, costs: readonly HashCost[]): string[] {
  const stored = passwordHash === null ? null : readHash(passwordHash);
  if (passwordHash === null || stored === null || typeof stored === 'string') return [ownDummy, ...costs.map(dummyOf)];
  if (stored.computation === ownComputation) return [passwordHash, ...costs.map(dummyOf)];
  const covered = coveredBy(stored, costs);
  const others = costs.filter((cost) => cost !== covered);
  return [ownDummy, passwordHash, ...differenceOf(stored, covered), ...others.map(dummyOf)];
}

/** Returns the highest cost of each computation among hashes. Skips own and unreadable hashes. */
export function costliestOf(hashes: readonly string[]): HashCost[] {
  const costs = new Map<string, number>();
  for (const text of hashes) {
    const stored = readHash(text);
    if (typeof stored === 'string' || stored.cost === 0 || stored.computation === ownComputation) continue;
    costs.set(stored.computation, Math.max(stored.cost, costs.get(stored.computation) ?? 0));
  }
  return [...costs].map(([computation, cost]) => ({ computation, cost }));
}

/** Returns whether a stored hash would make every refused login cost more than own hashes do. */
export function slowsRefusals(passwordHash: string): boolean {
  return costliestOf([passwordHash]).length > 0;
}

/** A hash of the given work that no password matches. */
function dummyOf({ computation, cost }: HashCost): string {
  if (computation === 'bcrypt') return `$2b$${String(Math.log2(cost)).padStart(2, '0')}$${'.'.repeat(53)}`;
  const iterations = computation.startsWith('pbkdf2-') ? `$i=${cost}` : '';
  return `$${computation}${iterations}$${zeros}$${zeros}`;
}

/**
 * The cost whose dummy a hash replaces. Memory-hard functions have one for each set of parameters,
 * but only a few sets are padded: a hash with other parameters replaces the nearest one.
 */
function coveredBy({ computation, cost }: HashCost, costs: readonly HashCost[]): HashCost | undefined {
  const same = costs.find((other) => other.computation === computation);
  if (same !== undefined || !isMemoryHard(computation)) return same;
  const family = costs.filter((other) => familyOf(other.computation) === familyOf(computation));
  return family.sort((one, other) => Math.abs(one.cost - cost) - Math.abs(other.cost - cost))[0];
}

/** Dummies for what the costliest hash costs more than this one. */
function differenceOf({ computation, cost }: HashCost, covered: HashCost | undefined): string[] {
  if (covered === undefined || covered.cost <= cost || isMemoryHard(computation)) return [];
  if (computation !== 'bcrypt') return [dummyOf({ computation, cost: covered.cost - cost })];
  // 2^c + 2^c + 2^(c+1) + … + 2^(C-1) = 2^C
  const doublings = Math.log2(covered.cost / cost);
  return Array.from({ length: doublings }, (_, index) => dummyOf({ computation, cost: cost * 2 ** index }));
}

function isMemoryHard(computation: string): boolean {
  return computation.includes('$');
}

/** `argon`, `scrypt`. */
function familyOf(computation: string): string {
  return /^[a-z]*/.exec(computation)?.[0] ?? '';
}
