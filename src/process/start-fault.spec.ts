import { inspect } from 'node:util';
import { DatabaseError } from 'pg';
import { explainStartFault, withoutInput } from './start-fault';

/** An error of the driver with its SQLSTATE. */
const rejected = (message: string, code: string) => Object.assign(new DatabaseError(message, 0, 'error'), { code });

it('names a missing privilege and where the privileges are listed (F28)', () => {
  expect(explainStartFault(rejected('permission denied to create extension "pg_trgm"', '42501'))).toBe(
    'The database of DATABASE_URL cannot be used: permission denied to create extension "pg_trgm". ' +
      'See docs/database.md, "The database role".',
  );
});

it.each(['SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'ERR_TLS_CERT_ALTNAME_INVALID'])(
  'points to the TLS parameters after %s (F28)',
  (code) => {
    const fault = Object.assign(new Error('the certificate is not trusted'), { code });
    expect(explainStartFault(fault)).toMatch(/: the certificate is not trusted\. Check sslmode and sslrootcert /);
  },
);

it('leaves an unexpected error to its stack', () => {
  expect(explainStartFault(new TypeError('x is not a function'))).toBeNull();
});

it('does not show the password of an invalid URL, as an error or as its cause', () => {
  const invalid = () => {
    try {
      return new URL('smtp://user:s3cr/et@mail.example.com:25');
    } catch (error) {
      return error;
    }
  };
  expect(inspect(invalid())).toContain('s3cr');
  for (const fault of [invalid(), new Error('no mail server', { cause: invalid() })]) {
    const shown = inspect(withoutInput(fault));
    expect(shown).toContain('Invalid URL');
    expect(shown).not.toContain('s3cr');
  }
  expect([null, undefined, 'text'].map(withoutInput)).toEqual([null, undefined, 'text']);
});
