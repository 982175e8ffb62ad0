import { PasskeysRepository } from '../../src/auth/second-factors/passkeys/passkeys.repository';
import { hash, named, other_id, sqlExamples, user_id } from '../support/contract/sql-examples';

const rp_id = 'example.net';
const passkey = named('passkey', {
  credential_id: hash,
  public_key: hash,
  signature_counter: 1,
  transports: ['internal'],
  rp_id,
  aaguid: null,
  backup_eligible: false,
});

export const passkeys = sqlExamples(PasskeysRepository, {
  find: [[hash, rp_id]],
  list: [[user_id, rp_id]],
  insert: [[other_id, user_id, 'Laptop', passkey]],
  moveCounter: [[other_id, 2]],
  useChallenge: [[hash, new Date('2027-01-01T00:00:00Z')]],
  removeExpiredChallenges: [[1_000]],
});
