import { SigningKeysRepository } from '../../src/auth/signing-keys/signing-keys.repository';
import { hash, sqlExamples } from '../support/contract/sql-examples';

export const signingKeys = sqlExamples(SigningKeysRepository, {
  lock: [[]],
  list: [[]],
  insert: [[{ kid: 'kid', public_jwk: { kty: 'EC' }, private_key: hash }, 600]],
  updateEncryption: [['kid', hash]],
  delete: [[['kid']]],
});
