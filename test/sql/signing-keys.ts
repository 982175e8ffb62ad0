import { SigningKeysRepository } from '../../src/signing-keys/signing-keys.repository';
import { hash, sqlExamples } from '../support/sql-examples';

export const signingKeys = sqlExamples(SigningKeysRepository, {
  lock: [[]],
  list: [[]],
  findPublicKey: [['kid']],
  insert: [[{ kid: 'kid', public_jwk: { kty: 'EC' }, private_key: hash }, 600]],
  advance: [['kid', 60]],
  updateEncryption: [['kid', hash]],
  deleteRetired: [[]],
  deleteOthers: [['kid']],
});
