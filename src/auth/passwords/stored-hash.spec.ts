import { createHash } from 'node:crypto';
import { hash as hashArgon2 } from '@node-rs/argon2';
import { hash as hashBcrypt } from '@node-rs/bcrypt';
import { hashPassword, needsRehash, verifyPassword, wrapMd5 } from './password-hashing';
import { importableHash, readHash } from './stored-hash';

const verify = (password: string, stored: string | null) => verifyPassword(password, stored, []);

const base64 = (hex: string) => Buffer.from(hex, 'hex').toString('base64').replace(/=+$/, '');
const text = (value: string) => base64(Buffer.from(value).toString('hex'));

/** Hashes of other systems with their passwords. */
const known: [string, string, string][] = [
  ['bcrypt 2a, OpenWall', 'U*U', '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'],
  ['bcrypt 2y', 'U*U', '$2y$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'],
  [
    'Argon2i version 1.0',
    'password',
    '$argon2i$v=16$m=256,t=2,p=1$c29tZXNhbHQ$/U3YPXYsSb3q9XxHvc0MLxur+GP960kN9j7emXX8zwY',
  ],
  [
    'scrypt, RFC 7914 §12',
    'password',
    `$scrypt$ln=10,r=8,p=16$${text('NaCl')}$` +
      base64(
        'fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162' +
          '2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640',
      ),
  ],
  [
    'PBKDF2 SHA-1, RFC 6070',
    'password',
    `$pbkdf2$i=4096,l=20$${text('salt')}$${base64('4b007901b765489abead49d926f721d065a429c1')}`,
  ],
  [
    'the same, named',
    'password',
    `$pbkdf2-sha1$i=4096$${text('salt')}$${base64('4b007901b765489abead49d926f721d065a429c1')}`,
  ],
  [
    'PBKDF2 SHA-256, RFC 7914 §11',
    'passwd',
    `$pbkdf2-sha256$i=1,l=64$${text('salt')}$` +
      base64(
        '55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc' +
          '49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783',
      ),
  ],
  [
    'PBKDF2 SHA-256, passlib',
    'password',
    '$pbkdf2-sha256$1000$m5OytjZGCOE8Ryil1Pqfsw$fKqZxKzumOay7pvhWw5NZisriwY38lDDbNEMh01pgK0',
  ],
  [
    'PBKDF2 SHA-512, passlib',
    'password',
    '$pbkdf2-sha512$1000$IGQMgbB2jnEOgZDyXmvtnQ$' +
      'ntU0jV.o4TdJenSxsE1wmgzIJ2.4lL.DKBIcMyQhO9ggtcEysg16nkvX19JhgN3r2yY/RA8w2FCf6zSnhWpIog',
  ],
  ['PBKDF2 SHA-1, passlib', 'password', '$pbkdf2$1000$MmYsxbg3pnROqTXGeK.1dg$W3GHNBDm8sS7MJtcz6Csv7s64Ns'],
  [
    'scrypt, passlib',
    'password',
    '$scrypt$ln=8,r=8,p=1$TEkJgZCyltK6914rRejd2w$G3zosl4kDyIOxyYObAvQQRDFA2tvWepHLvd1mk5XL5Q',
  ],
];

describe('hashes of other systems', () => {
  it.each(known)('verifies %s', async (_name, password, stored) => {
    expect(readHash(stored)).toHaveProperty('form');
    expect(await verify(password, stored)).toBe(true);
    expect(await verify(`${password}x`, stored)).toBe(false);
    expect(needsRehash(stored)).toBe(true);
  });

  it('verifies hashes made by the libraries, of every kind', async () => {
    const options = { memoryCost: 64, timeCost: 1, parallelism: 1 };
    const made = await Promise.all([
      ...[0, 1, 2].map((algorithm) => hashArgon2('päss wörd', { ...options, algorithm })),
      hashArgon2('päss wörd', { ...options, algorithm: 2, parallelism: 4 }),
      hashBcrypt('päss wörd', { cost: 4 }),
    ]);
    for (const stored of made) {
      expect([stored, await verify('päss wörd', stored)]).toEqual([stored, true]);
      expect([stored, await verify('pass word', stored)]).toEqual([stored, false]);
    }
  });

  it('rejects every password for a bare MD5, and accepts the right password for a wrapped one', async () => {
    const md5 = createHash('md5').update('päss wörd').digest('hex');
    expect(await verify('päss wörd', md5)).toBe(false);
    const wrapped = await wrapMd5(md5.toUpperCase());
    expect(wrapped).not.toContain(md5);
    expect(readHash(wrapped)).toMatchObject({ form: 'md5-in-argon2' });
    expect(needsRehash(wrapped)).toBe(true);
    expect(await verify('päss wörd', wrapped)).toBe(true);
    expect(await verify(md5, wrapped)).toBe(false);
  });

  const [salt, hash] = [text('0123456789abcdef'), text('0123456789abcdef0123456789abcdef')];

  it.each([
    `$argon2id$v=19$m=131073,t=1,p=1$${salt}$${hash}`,
    `$argon2id$v=19$m=131072,t=5,p=1$${salt}$${hash}`,
    `$argon2id$v=19$m=999999999,t=999999999,p=1$${salt}$${hash}`,
    `$md5$argon2id$v=19$m=131073,t=1,p=1$${salt}$${hash}`,
    `$2b$13$${'.'.repeat(53)}`,
    `$2b$31$${'.'.repeat(53)}`,
    `$scrypt$ln=18,r=8,p=1$${salt}$${hash}`,
    `$scrypt$ln=14,r=8,p=9$${salt}$${hash}`,
    `$scrypt$ln=1,r=1,p=1000000$${salt}$${hash}`,
    `$scrypt$ln=99,r=999999999,p=999999999$${salt}$${hash}`,
    `$pbkdf2-sha256$i=1200001$${salt}$${hash}`,
    `$pbkdf2-sha512$i=600001$${salt}$${hash}`,
    `$pbkdf2$i=650001$${salt}$${hash}`,
  ])('rejects %s as too costly for an import', (stored) => {
    expect(importableHash(stored)).toBe('too costly');
  });

  it.each([
    `$2b$14$${'.'.repeat(53)}`,
    `$scrypt$ln=17,r=8,p=2$${salt}$${hash}`,
    `$pbkdf2-sha512$2000000$${salt}$${hash}`,
  ])('reads %s, which an earlier release imported', (stored) => {
    expect(readHash(stored)).toHaveProperty('form');
    expect(importableHash(stored)).toBe('too costly');
  });

  it.each([
    `$2b$31$${'.'.repeat(53)}`,
    `$argon2id$v=19$m=999999999,t=999999999,p=1$${salt}$${hash}`,
    `$scrypt$ln=99,r=999999999,p=999999999$${salt}$${hash}`,
  ])('never verifies %s, which no release imported', async (stored) => {
    expect(readHash(stored)).toBe('too costly');
    expect(await verify('', stored)).toBe(false);
  });

  it.each([
    `$2y$12$${'.'.repeat(53)}`,
    `$argon2id$v=19$m=65536,t=3,p=4$${salt}$${hash}`,
    `$argon2id$v=19$m=65536,t=4,p=1$${salt}$${hash}`,
    `$argon2id$v=19$m=102400,t=2,p=8$${salt}$${hash}`,
    `$scrypt$ln=17,r=8,p=1$${salt}$${hash}`,
    `$scrypt$ln=14,r=8,p=5$${salt}$${hash}`,
    `$pbkdf2$i=1300000$${salt}$${text('0123456789abcdef0123')}`,
    `$pbkdf2-sha256$i=1200000$${salt}$${hash}`,
    `$pbkdf2-sha512$i=210000$${salt}$${hash}`,
  ])('accepts %s, a recommendation or default', (stored) => {
    expect(importableHash(stored)).toHaveProperty('form');
  });

  it('verifies a hash that costs more than an import accepts', async () => {
    const stored = await hashArgon2('päss wörd', { memoryCost: 65_536, timeCost: 9, parallelism: 1 });
    expect(importableHash(stored)).toBe('too costly');
    expect([await verify('päss wörd', stored), await verify('pass word', stored)]).toEqual([true, false]);
  });

  it.each([
    ['', 'unknown form'],
    ['correct horse battery staple', 'unknown form'],
    ['0123456789abcdef0123456789abcde', 'unknown form'],
    ['$1$salt$qJH7.N4xYta3aEG/dfqo/0', 'unknown form'],
    ['$6$salt$IxDD3jeSOb5eB1CX5LBsqZFVkJdido3OUILO5Ifz5iwMuTS4XMS130MTSuDDl3aCI6WouIL9AjRbLCelDCy.g.', 'unknown form'],
    ['{SSHA}abc', 'unknown form'],
    [`$argon2id$m=64,t=1,p=1$${salt}$${hash}`, 'malformed'],
    [`$argon2id$v=19$t=1,m=64,p=1$${salt}$${hash}`, 'malformed'],
    [`$argon2id$v=19$m=64,t=1,p=1$${salt}$`, 'malformed'],
    [`$argon2id$v=19$m=64,t=1,p=1$${salt}$${text('too short')}`, 'malformed'],
    [`$argon2id$v=19$m=64,t=0,p=1$${salt}$${hash}`, 'malformed'],
    [`$argon2id$v=19$m=4,t=1,p=1$${salt}$${hash}`, 'malformed'],
    [`$argon2id$v=19$m=64,t=1,p=1$${salt}$${hash}=`, 'malformed'],
    [`$argon2id$v=19$m=64,t=1,p=1$${salt}$${hash}\n`, 'malformed'],
    [` $argon2id$v=19$m=64,t=1,p=1$${salt}$${hash}`, 'unknown form'],
    [`$argon2id$v=19$m=064,t=1,p=1$${salt}$${hash}`, 'malformed'],
    [`$argon2id$v=19$m=64,t=01,p=1$${salt}$${hash}`, 'malformed'],
    [`$argon2id$v=19$m=64,t=1,p=001$${salt}$${hash}`, 'malformed'],
    [`$2b$04$${'.'.repeat(21)}A${'.'.repeat(31)}`, 'malformed'],
    [`$2b$04$${'.'.repeat(52)}A`, 'malformed'],
    [`$2x$10$${'.'.repeat(53)}`, 'malformed'],
    [`$2b$03$${'.'.repeat(53)}`, 'malformed'],
    [`$2b$10$${'.'.repeat(52)}`, 'malformed'],
    [`$scrypt$ln=0,r=8,p=1$${salt}$${hash}`, 'malformed'],
    [`$scrypt$ln=10,r=8,p=0$${salt}$${hash}`, 'malformed'],
    [`$scrypt$ln=16,r=1,p=1$${salt}$${hash}`, 'malformed'],
    [`$scrypt$ln=10,r=8,p=1$${salt}$`, 'malformed'],
    [`$pbkdf2-sha256$i=0$${salt}$${hash}`, 'malformed'],
    [`$pbkdf2-sha256$i=1000,l=31$${salt}$${hash}`, 'malformed'],
    [`$pbkdf2-md5$i=1000$${salt}$${hash}`, 'malformed'],
    [`$pbkdf2-sha256$1000$${salt}$`, 'malformed'],
    [`$md5$${hash}`, 'malformed'],
  ])('rejects %s: %s', async (stored, fault) => {
    expect(readHash(stored)).toBe(fault);
    expect(await verify('', stored)).toBe(false);
  });

  it('does not replace a current hash', async () => {
    const own = await hashPassword('correct horse battery staple', 'user:1');
    expect([needsRehash(own), readHash(own)]).toEqual([false, expect.objectContaining({ form: 'argon2' })]);
    expect(await verify('correct horse battery staple', own)).toBe(true);
    expect(await verify('correct horse battery staple', null)).toBe(false);
  });
});
