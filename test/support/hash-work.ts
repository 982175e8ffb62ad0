import type * as argon2 from '@node-rs/argon2';
import type * as bcrypt from '@node-rs/bcrypt';
import type * as crypto from 'node:crypto';

/** Work by algorithm: iterations of bcrypt and PBKDF2; calls per parameter set of the others. */
export type HashWork = Record<string, number>;

const digestBytes: Record<string, number> = { sha1: 20, sha256: 32, sha512: 64 };

/** Counts the work of the real hash functions by the parameters of each call. */
class WorkMeter {
  private work: HashWork = {};

  /** Returns the work since the last call and resets it. */
  take(): HashWork {
    const done = this.work;
    this.work = {};
    return done;
  }

  /** Returns the Argon2 package with its functions counted. */
  argon2(): typeof argon2 {
    const real = jest.requireActual<typeof argon2>('@node-rs/argon2');
    const verify: typeof argon2.verify = (stored, ...rest) => {
      this.add(/^\$(.*)\$[^$]+\$[^$]+$/.exec(String(stored))?.[1] ?? 'argon2', 1);
      return real.verify(stored, ...rest);
    };
    const hash: typeof argon2.hash = (...given) => {
      this.add('new hash', 1);
      return real.hash(...given);
    };
    return { ...real, hash, verify };
  }

  /** Returns the bcrypt package with its verification counted. */
  bcrypt(): typeof bcrypt {
    const real = jest.requireActual<typeof bcrypt>('@node-rs/bcrypt');
    const verify: typeof bcrypt.verify = (password, stored) => {
      this.add('bcrypt', 2 ** Number(String(stored).slice(4, 6)));
      return real.verify(password, stored);
    };
    return { ...real, verify };
  }

  /** Returns `node:crypto` with PBKDF2 and scrypt counted. */
  crypto(): typeof crypto {
    const real = jest.requireActual<typeof crypto>('node:crypto');
    const pbkdf2: typeof crypto.pbkdf2 = (password, salt, iterations, length, digest, done) => {
      this.add(`pbkdf2-${digest}`, iterations * Math.ceil(length / (digestBytes[digest] ?? 1)));
      real.pbkdf2(password, salt, iterations, length, digest, done);
    };
    const scrypt = ((...given: Parameters<typeof crypto.scrypt>) => {
      const { N = 0, r = 0, p = 0 } = given[3];
      this.add(`scrypt N=${N},r=${r},p=${p}`, 1);
      real.scrypt(...given);
    }) as typeof crypto.scrypt;
    return { ...real, pbkdf2, scrypt };
  }

  private add(algorithm: string, units: number): void {
    this.work[algorithm] = (this.work[algorithm] ?? 0) + units;
  }
}

/** Counts the hash work of a test file, which installs the counter by `jest.mock`. */
export const meter = new WorkMeter();
