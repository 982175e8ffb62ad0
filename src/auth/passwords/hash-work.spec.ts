import { admitsSet, costsOf, slowsRefusals, workOf } from './hash-work';
import { rehashPassword, needsRehash, wrapMd5 } from './password-hashing';
import { readHash } from './stored-hash';

const rest = `$${'A'.repeat(22)}$${'A'.repeat(43)}`;
const longRest = `$${'A'.repeat(22)}$${'A'.repeat(86)}`;
const bcrypt = (cost: string, version = 'b') => `$2${version}$${cost}$${'.'.repeat(53)}`;

const foreign = [
  ...['04', '10', '12', '13'].map((cost) => bcrypt(cost)),
  bcrypt('11', 'y'),
  ...[`$pbkdf2-sha256$i=600000${rest}`, `$pbkdf2-sha256$1000${longRest}`, `$pbkdf2-sha512$i=210000${longRest}`],
  `$pbkdf2$i=50000$${'A'.repeat(22)}$${'A'.repeat(54)}`,
  ...[`$scrypt$ln=14,r=8,p=1${rest}`, `$scrypt$ln=15,r=8,p=3${longRest}`, `$scrypt$ln=15,r=8,p=1${rest}`],
  `$argon2id$v=19$m=65536,t=3,p=4${rest}`,
  `$argon2i$v=19$m=4096,t=3,p=1${rest}`,
  `$argon2d$v=16$m=4096,t=3,p=1${rest}`,
  `$md5$argon2id$v=19$m=4096,t=3,p=1${rest}`,
];

/**
 * Returns the costs that rejected logins are padded to while the hashes are stored.
 * Derives the forms as `CredentialsRepository.listForeignForms` does in SQL.
 */
function costsWith(hashes: string[]) {
  const form = (hash: string) => /^\$2.{4}|^\$pbkdf2[^$]*|^.*(?=\$[^$]*\$[^$]*$)/.exec(hash)?.[0] ?? hash;
  return costsOf(hashes.map(form));
}

/** Returns the work of verifying a password against all hashes, by computation. */
function unitsOf(hashes: string[]): Record<string, number> {
  const units: Record<string, number> = {};
  for (const text of hashes) {
    const stored = readHash(text);
    if (typeof stored === 'string') throw new Error(`${text}: ${stored}`);
    units[stored.computation] = (units[stored.computation] ?? 0) + stored.cost;
  }
  return units;
}

describe('the hash work of a rejected login', () => {
  const costs = costsWith(foreign);
  const own = [rehashPassword('correct horse battery staple'), wrapMd5('5f4dcc3b5aa765d61d8327deb882cf99')];

  it('is the same for every stored form as for a user without a password (L19)', async () => {
    const wanted = unitsOf(workOf(null, costs));
    for (const text of [...foreign, ...(await Promise.all(own)), '$1$unreadable'])
      expect([text, unitsOf(workOf(text, costs))]).toEqual([text, wanted]);
    expect(wanted).toMatchObject({ bcrypt: 2 ** 13, 'pbkdf2-sha256': 1_200_000, 'scrypt$ln=15,r=8,p=3': 2 ** 15 * 24 });
    expect(wanted).toMatchObject({ 'argon2id$v=19$m=19456,t=2,p=1': 38_912, 'argon2id$v=19$m=4096,t=3,p=1': 12_288 });
    expect(Object.keys(wanted)).toHaveLength(1 + costs.length);
  });

  it('starts with the hashes that a right password needs, so that it can skip the rest', async () => {
    for (const text of foreign) expect(workOf(text, costs)[1]).toBe(text);
    for (const text of await Promise.all(own)) expect(workOf(text, costs)[0]).toBe(text);
  });

  it('is one current Argon2id hash if no hash of another system is stored', async () => {
    const hashes = await Promise.all(own);
    expect([...hashes, '5f4dcc3b5aa765d61d8327deb882cf99', '$1$unreadable'].map(slowsRefusals)).toEqual(
      Array(4).fill(false),
    );
    expect(costsOf(['$1', '$unreadable', '$2b$99', '$pbkdf2-md5', '$md5'])).toEqual([]);
    expect(hashes.map(needsRehash)).toEqual([false, true]);
    const one = { 'argon2id$v=19$m=19456,t=2,p=1': 38_912 };
    for (const text of [...hashes, null]) expect(unitsOf(workOf(text, []))).toEqual(one);
  });

  it('includes bcrypt hashes that cost more than an import accepts', () => {
    const work = workOf(null, costsOf(['$2b$14', '$2y$12']));
    expect(unitsOf(work)).toMatchObject({ bcrypt: 2 ** 14 });
  });
});

describe('the limit of parameter sets', () => {
  const argon2 = (m: number, t: number) => `$argon2id$v=19$m=${m},t=${t},p=1${rest}`;
  const scrypt = (ln: number) => `$scrypt$ln=${ln},r=8,p=1${rest}`;
  const admitted = (hashes: string[], costs = costsOf([])) => hashes.map((hash) => admitsSet(hash, costs));

  it('is the cost of one hash, so that an import cannot slow down rejected logins (L21)', () => {
    const sets = [argon2(65_536, 4), scrypt(17), argon2(65_536, 3), argon2(65_536, 2), scrypt(14), argon2(65_536, 4)];
    expect(admitted(sets)).toEqual([true, true, true, false, false, true]);
    expect(admitted([scrypt(14)], costsOf(['$scrypt$ln=17,r=8,p=1']))).toEqual([false]);
    expect(admitted([scrypt(17)], costsOf(['$argon2id$v=19$m=65536,t=4,p=1']))).toEqual([true]);
  });

  it('admits at most 16 sets of the lowest cost (L21)', () => {
    const sets = Array.from({ length: 20 }, (_, index) => argon2(64 + index, 1));
    expect(admitted(sets).filter(Boolean)).toHaveLength(16);
  });

  it('does not apply to bcrypt, PBKDF2, current hashes and MD5', () => {
    const costs = costsOf(['$scrypt$ln=17,r=8,p=1', '$argon2id$v=19$m=131072,t=4,p=1']);
    const hashes = [bcrypt('12'), `$pbkdf2-sha512$i=600000${rest}`, argon2(19_456, 2)];
    expect(admitted([...hashes, '5f4dcc3b5aa765d61d8327deb882cf99', argon2(131_072, 4)], costs)).toEqual(
      Array(5).fill(true),
    );
    expect(costs).toHaveLength(2);
  });
});
