import { type HashCost, readHash } from './stored-hash';

/** Computation of new hashes and wrapped MD5 hashes (`parameters` in password-hashing.ts). */
const ownComputation = 'argon2id$v=19$m=19456,t=2,p=1';
/** Salt and digest of every dummy, 16 zero bytes each. No password matches them. */
const zeros = 'A'.repeat(22);
const noBcrypt = '.'.repeat(53);
const ownDummy = `$${ownComputation}$${zeros}$${zeros}`;

/**
 * Returns the hashes to verify a password against, in this order, until it matches.
 * Verifying against all of them takes the same work for every user (OWASP ASVS 6.3.8, L19): one
 * Argon2id with current parameters, and the work of each entry of `costs`. All hashes but the
 * user's are dummies that depend only on `costs`.
 */
export function workOf(passwordHash: string | null, costs: readonly HashCost[]): string[] {
  const stored = passwordHash === null ? null : readHash(passwordHash);
  if (passwordHash === null || stored === null || typeof stored === 'string') return [ownDummy, ...costs.map(dummyOf)];
  if (stored.computation === ownComputation) return [passwordHash, ...costs.map(dummyOf)];
  const covered = costs.find(({ computation }) => computation === stored.computation);
  const others = costs.filter((cost) => cost !== covered);
  return [ownDummy, passwordHash, ...differenceOf(stored, covered), ...others.map(dummyOf)];
}

/**
 * Returns the costs that rejected logins are padded to, for the forms of the stored hashes.
 * These are the cost limit of PBKDF2, the highest cost of bcrypt in use, and each parameter set of
 * Argon2 and scrypt in use. Skips unreadable forms.
 * @param forms forms of hashes of other systems (`CredentialsRepository.listForeignForms`)
 */
export function costsOf(forms: readonly string[]): HashCost[] {
  const costs = new Map<string, number>();
  for (const form of forms) {
    const iterations = form.startsWith('$pbkdf2') ? '$i=1' : '';
    const sample = readHash(form + (form.startsWith('$2') ? `$${noBcrypt}` : `${iterations}$${zeros}$${zeros}`));
    if (typeof sample === 'string') continue;
    const cost = sample.form === 'pbkdf2' ? sample.costLimit : sample.cost;
    costs.set(sample.computation, Math.max(cost, costs.get(sample.computation) ?? 0));
  }
  return [...costs].map(([computation, cost]) => ({ computation, cost }));
}

/** Returns whether storing a hash can increase the cost of rejected logins. */
export function slowsRefusals(passwordHash: string): boolean {
  const stored = readHash(passwordHash);
  return typeof stored !== 'string' && stored.cost > 0 && stored.computation !== ownComputation;
}

/**
 * Adds the parameter set of an Argon2 or scrypt hash to the costs.
 * Returns false and adds nothing if all sets of the form together would exceed the cost limit of
 * one hash, because each set in use makes rejected logins slower (L21). Each set counts as at least
 * a sixteenth of the limit.
 */
export function admitsSet(passwordHash: string, costs: HashCost[]): boolean {
  const stored = readHash(passwordHash);
  if (typeof stored === 'string' || !slowsRefusals(passwordHash) || !isMemoryHard(stored.computation)) return true;
  const { computation, cost, costLimit } = stored;
  if (costs.some((known) => known.computation === computation)) return true;
  const form = computation.slice(0, 6);
  const sets = [...costs.filter((known) => known.computation.startsWith(form)), { cost }];
  if (sets.length > 1 && sets.reduce((sum, set) => sum + Math.max(set.cost, costLimit / 16), 0) > costLimit)
    return false;
  costs.push({ computation, cost });
  return true;
}

/** Returns a hash with the given cost that no password matches. */
function dummyOf({ computation, cost }: HashCost): string {
  if (computation === 'bcrypt') return `$2b$${String(Math.log2(cost)).padStart(2, '0')}$${noBcrypt}`;
  const iterations = computation.startsWith('pbkdf2-') ? `$i=${cost}` : '';
  return `$${computation}${iterations}$${zeros}$${zeros}`;
}

/** Returns dummies for the difference between a covered cost and the cost of a stored hash. */
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
