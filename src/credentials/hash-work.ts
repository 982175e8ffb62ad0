import { type HashCost, readHash } from './stored-hash';

/** Computation of new hashes and wrapped MD5 hashes (`parameters` in password-hashing.ts). */
const ownComputation = 'argon2id$v=19$m=19456,t=2,p=1';
/** Salt and digest of every dummy, 16 zero bytes each. No password matches them. */
const zeros = 'A'.repeat(22);
const ownDummy = `$${ownComputation}$${zeros}$${zeros}`;

/**
 * Returns the hashes to verify a password against, in this order, until it matches.
 * Verifying against all of them takes the same work for every user (OWASP ASVS 6.3.8, L19): one
 * Argon2id with current parameters and, for each computation in `costs`, the work of the costliest
 * stored hash. All hashes but the user's are dummies that depend only on `costs`.
 */
export function workOf(passwordHash: string | null, costs: readonly HashCost[]): string[] {
  const stored = passwordHash === null ? null : readHash(passwordHash);
  if (passwordHash === null || stored === null || typeof stored === 'string') return [ownDummy, ...costs.map(dummyOf)];
  if (stored.computation === ownComputation) return [passwordHash, ...costs.map(dummyOf)];
  const covered = costs.find(({ computation }) => computation === stored.computation);
  const others = costs.filter((cost) => cost !== covered);
  return [ownDummy, passwordHash, ...differenceOf(stored, covered), ...others.map(dummyOf)];
}

/** Returns the highest cost of each computation. Skips current and unreadable hashes. */
export function costliestOf(hashes: readonly string[]): HashCost[] {
  const costs = new Map<string, number>();
  for (const text of hashes) {
    const stored = readHash(text);
    if (typeof stored === 'string' || stored.cost === 0 || stored.computation === ownComputation) continue;
    costs.set(stored.computation, Math.max(stored.cost, costs.get(stored.computation) ?? 0));
  }
  return [...costs].map(([computation, cost]) => ({ computation, cost }));
}

/** Returns whether storing a hash can increase the cost of rejected logins. */
export function slowsRefusals(passwordHash: string): boolean {
  return costliestOf([passwordHash]).length > 0;
}

/** Returns a hash with the given cost that no password matches. */
function dummyOf({ computation, cost }: HashCost): string {
  if (computation === 'bcrypt') return `$2b$${String(Math.log2(cost)).padStart(2, '0')}$${'.'.repeat(53)}`;
  const iterations = computation.startsWith('pbkdf2-') ? `$i=${cost}` : '';
  return `$${computation}${iterations}$${zeros}$${zeros}`;
}

/** Returns dummies for the difference between the costliest stored hash and this one. */
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
