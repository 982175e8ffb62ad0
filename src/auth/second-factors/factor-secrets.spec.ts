import { randomBytes } from 'node:crypto';
import { FactorSecrets } from './factor-secrets';

const old = 'test-secret-0123456789-abcdefghijklmnop';
const next = 'another-secret-9876543210-zyxwvutsrqp';
const owner = { user_id: 'u1', factor_id: 'f1' };
const secret = randomBytes(20);
const secrets = new FactorSecrets({ APP_SECRET: old, APP_SECRET_PREVIOUS: undefined });
const stored = secrets.encrypt(owner, secret);

it('decrypts a secret only for its own user and factor (M1)', () => {
  expect(secrets.decrypt(owner, stored)).toEqual(secret);
  expect(secrets.decrypt({ ...owner, user_id: 'u2' }, stored)).toBeNull();
  expect(secrets.decrypt({ ...owner, factor_id: 'f2' }, stored)).toBeNull();
});

it('decrypts no secret after any byte of it changed', () => {
  expect(stored).toHaveLength(4 + 12 + 16 + 20);
  for (let at = 0; at < stored.length; at++) {
    const altered = Buffer.from(stored);
    altered[at] = (altered[at] ?? 0) ^ 1;
    expect([at, secrets.decrypt(owner, altered)]).toEqual([at, null]);
  }
  for (const length of [0, 3, 4, 16, 31, 32, 51])
    expect([length, secrets.decrypt(owner, stored.subarray(0, length))]).toEqual([length, null]);
});

it('decrypts with both secrets while APP_SECRET changes, and encrypts with the new one', () => {
  expect(new FactorSecrets({ APP_SECRET: next, APP_SECRET_PREVIOUS: undefined }).decrypt(owner, stored)).toBeNull();
  const rotating = new FactorSecrets({ APP_SECRET: next, APP_SECRET_PREVIOUS: old });
  expect(rotating.decrypt(owner, stored)).toEqual(secret);
  const again = rotating.encrypt(owner, secret);
  expect(again.subarray(0, 4)).toEqual(rotating.keyId);
  expect(secrets.decrypt(owner, again)).toBeNull();
  // An instance that still uses the old secret knows the new one.
  expect(new FactorSecrets({ APP_SECRET: old, APP_SECRET_PREVIOUS: next }).decrypt(owner, again)).toEqual(secret);
});

it('decrypts the secrets that earlier releases stored', () => {
  const earlier = 'qL7e_ns4G5BIlFPLPP4ikMPQTvJzbKJ0Xi4ZXmTWKld6a-C9C9a50bxfC1qm8Si6TvN33A';
  const text = secrets.decrypt(owner, Buffer.from(earlier, 'base64url'))?.toString();
  expect(text).toBe('12345678901234567890');
});
