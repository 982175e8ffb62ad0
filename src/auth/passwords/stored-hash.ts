import { createHash, pbkdf2, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { verify as verifyArgon2 } from '@node-rs/argon2';
import { verify as verifyBcrypt } from '@node-rs/bcrypt';

/** Form of a password hash. `md5` is wrapped before it is stored. */
export type HashForm = 'argon2' | 'bcrypt' | 'scrypt' | 'pbkdf2' | 'md5' | 'md5-in-argon2';

/** Cost of verifying a password against a hash. */
export interface HashCost {
  /**
   * Algorithm whose costs can be added up, such as `bcrypt` or `pbkdf2-sha256`.
   * Includes all parameters of Argon2 and scrypt: their time depends on each of them.
   */
  computation: string;
  /** bcrypt: 2^cost; PBKDF2: iterations of all blocks; scrypt: N*r*p; Argon2: KiB * passes */
  cost: number;
}

/** A parsed hash. */
export interface StoredHash extends HashCost {
  form: HashForm;
  /** highest cost of imported hashes of this form, see `costLimits` */
  costLimit: number;
  /** slow on purpose: an imported hash takes at most half a second of one core and 128 MiB */
  verify: (password: string) => Promise<boolean>;
}

/** Why a hash is rejected. */
export type HashFault = 'unknown form' | 'malformed' | 'too costly';

/** Prefix of an Argon2 hash of the MD5 of a password, in lower-case hexadecimal. */
export const md5Mark = '$md5';

/**
 * Highest costs of imported hashes, in units of `HashCost`, each at most half a second of one core.
 * Another system chose the cost, and every rejected login does the same work (CWE-400, L21).
 * The limits cover the recommendations of OWASP and the defaults of common libraries: Argon2 with
 * 64 MiB and t=4 (PHP), bcrypt 12, scrypt with N=2^17 and r=8, 1,300,000 iterations of PBKDF2 with
 * SHA-1, 1,200,000 with SHA-256 (Django).
 */
const costLimits = {
  argon2: 524_288,
  bcrypt: 2 ** 12,
  scrypt: 2 ** 20,
  pbkdf2: { sha1: 1_300_000, sha256: 1_200_000, sha512: 600_000 },
};
/** Factor of the limits of earlier releases. The hashes that they imported still verify. */
const formerFactor = 4;
const memoryMaxKib = 131_072;
/** A separate limit, because every lane has a fixed cost. */
const scryptLanesMax = 1_024;
/** A short hash matches many passwords, and an empty hash matches all passwords. */
const hashBytesMin = 16;
const bytesMax = 64;

/** `readBytes` checks salt and hash. */
const argon2Form = /^\$argon2(?:id?|d)\$v=1[69]\$m=([1-9]\d{0,8}),t=([1-9]\d{0,8}),p=([1-9]\d{0,2})\$([^$]+)\$([^$]+)$/;
/**
 * The last characters of salt and hash have unused bits, which must be zero. The library rejects
 * other hashes without computing anything, and the short time would reveal the user (L19).
 */
const bcryptForm = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{30}[.CGKOSWaeimquy26]$/;
const scryptForm = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,9}),p=(\d{1,9})\$([A-Za-z0-9+/]*)\$([A-Za-z0-9+/]+)$/;
/** In PHC form (`i=600000,l=32`), or as passlib writes it (`29000`, with `.` for `+`). */
const pbkdf2Form = new RegExp(
  String.raw`^\$pbkdf2(?:-(sha1|sha256|sha512))?\$(?:i=(\d{1,9})(?:,l=(\d{1,2}))?|(\d{1,9}))` +
    String.raw`\$([A-Za-z0-9+/.]*)\$([A-Za-z0-9+/.]+)$`,
);
const md5Form = /^[0-9a-f]{32}$/i;

type Derive = (password: string, salt: Buffer, length: number) => Promise<Buffer>;
type ScryptCost = { N: number; r: number; p: number; maxmem: number };
const deriveScrypt = promisify<string, Buffer, number, ScryptCost, Buffer>(scrypt);
const derivePbkdf2 = promisify(pbkdf2);
const digestBytes = { sha1: 20, sha256: 32, sha512: 64 };

/**
 * Reads a stored hash in one of the standard text forms. Rejects a hash that two libraries could
 * read differently, and a hash that costs too much.
 * @see https://github.com/P-H-C/phc-string-format/blob/master/phc-sf-spec.md
 */
export function readHash(text: string, factor = formerFactor): StoredHash | HashFault {
  const read = parse(text);
  return typeof read !== 'string' && read.cost > read.costLimit * factor ? 'too costly' : read;
}

/** Reads a hash of an import. Rejects a hash that costs more than the limit of its form. */
export function importableHash(text: string): StoredHash | HashFault {
  return readHash(text, 1);
}

function parse(text: string): StoredHash | HashFault {
  if (text.startsWith(`${md5Mark}$`)) return readMd5InArgon2(text.slice(md5Mark.length));
  if (text.startsWith('$argon2')) return readArgon2(text);
  if (text.startsWith('$2')) return readBcrypt(text);
  if (text.startsWith('$scrypt$')) return readScrypt(text);
  if (text.startsWith('$pbkdf2')) return readPbkdf2(text);
  // A bare MD5 is wrapped before it is stored, and never verifies a password.
  const nothing = { computation: 'none', cost: 0, costLimit: 0, verify: () => Promise.resolve(false) };
  return md5Form.test(text) ? { form: 'md5', ...nothing } : 'unknown form';
}

function readArgon2(text: string): StoredHash | HashFault {
  const [, memory, time, lanes, salt = '', hash = ''] = argon2Form.exec(text) ?? [];
  const [m, t, p] = [Number(memory), Number(time), Number(lanes)];
  const bytes = readBytes(salt, hash);
  if (bytes === null || bytes.salt.length < 8 || t < 1 || p < 1 || m < 8 * p) return 'malformed';
  if (m > memoryMaxKib) return 'too costly';
  const computation = `${text.slice(1, text.indexOf('$m='))}$m=${m},t=${t},p=${p}`;
  const verify = (password: string) => verifyArgon2(text, password);
  return { form: 'argon2', computation, cost: m * t, costLimit: costLimits.argon2, verify };
}

function readMd5InArgon2(text: string): StoredHash | HashFault {
  const inner = readArgon2(text);
  if (typeof inner === 'string') return inner;
  const md5 = (password: string) => createHash('md5').update(password).digest('hex');
  return { ...inner, form: 'md5-in-argon2', verify: (password) => inner.verify(md5(password)) };
}

/**
 * Reads a bcrypt hash.
 * bcrypt ignores all bytes after the first 72. The first login replaces the hash with a hash of the
 * whole password. Some implementations also stop at NUL, which passwords do not contain.
 */
function readBcrypt(text: string): StoredHash | HashFault {
  const cost = Number(bcryptForm.exec(text)?.[1]);
  if (!(cost >= 4 && cost <= 31)) return 'malformed';
  const verify = (password: string) => verifyBcrypt(password, text);
  return { form: 'bcrypt', computation: 'bcrypt', cost: 2 ** cost, costLimit: costLimits.bcrypt, verify };
}

function readScrypt(text: string): StoredHash | HashFault {
  const [, ln, blocks, lanes, salt = '', hash = ''] = scryptForm.exec(text) ?? [];
  const [log2N, r, p] = [Number(ln), Number(blocks), Number(lanes)];
  const bytes = readBytes(salt, hash);
  // RFC 7914 §2: N is less than 2^(16 r); OpenSSL throws otherwise
  if (bytes === null || log2N < 1 || log2N >= 16 * r || r < 1 || p < 1) return 'malformed';
  const N = 2 ** log2N;
  if ((N * r) / 8 > memoryMaxKib || p > scryptLanesMax) return 'too costly';
  const maxmem = 128 * r * (N + p + 2) + 1_024;
  const derive: Derive = (password, ...rest) => deriveScrypt(password, ...rest, { N, r, p, maxmem });
  const computation = `scrypt$ln=${log2N},r=${r},p=${p}`;
  return {
    form: 'scrypt',
    computation,
    cost: N * r * p,
    costLimit: costLimits.scrypt,
    verify: verifier(bytes, derive),
  };
}

function readPbkdf2(text: string): StoredHash | HashFault {
  const [, digest = 'sha1', named, length, plain, salt = '', hash = ''] = pbkdf2Form.exec(text) ?? [];
  const bytes =
    plain === undefined ? readBytes(salt, hash) : readBytes(salt.replace(/\./g, '+'), hash.replace(/\./g, '+'));
  const iterations = Number(named ?? plain);
  if (bytes === null || !(iterations >= 1) || (length !== undefined && bytes.hash.length !== Number(length)))
    return 'malformed';
  const blocks = Math.ceil(bytes.hash.length / digestBytes[digest as keyof typeof digestBytes]);
  const cost = iterations * blocks;
  const costLimit = costLimits.pbkdf2[digest as keyof typeof digestBytes];
  const derive: Derive = (password, ...rest) => derivePbkdf2(password, rest[0], iterations, rest[1], digest);
  return { form: 'pbkdf2', computation: `pbkdf2-${digest}`, cost, costLimit, verify: verifier(bytes, derive) };
}

/**
 * Decodes salt and hash from Base64 without padding.
 * Returns null if a length is unsafe or the text is not canonical.
 */
function readBytes(salt: string, hash: string): { salt: Buffer; hash: Buffer } | null {
  const [saltBytes, hashBytes] = [Buffer.from(salt, 'base64'), Buffer.from(hash, 'base64')];
  const canonical = (text: string, bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '') === text;
  const fits = hashBytes.length >= hashBytesMin && Math.max(saltBytes.length, hashBytes.length) <= bytesMax;
  return fits && canonical(salt, saltBytes) && canonical(hash, hashBytes) ? { salt: saltBytes, hash: hashBytes } : null;
}

function verifier({ salt, hash }: { salt: Buffer; hash: Buffer }, derive: Derive): StoredHash['verify'] {
  return async (password) => timingSafeEqual(await derive(password, salt, hash.length), hash);
}
