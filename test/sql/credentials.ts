import { CredentialsRepository } from '../../src/auth/passwords/credentials.repository';
import { hash, other_id, sqlExamples, user_id } from '../support/contract/sql-examples';

export const credentials = sqlExamples(CredentialsRepository, {
  upsertHash: [[user_id, '$argon2id$new', null]],
  listForeignForms: [[]],
  voidPasswords: [[[user_id]]],
  keep: [[user_id, '$argon2id$verified', '$argon2id$renewed', true]],
  requestTokens: [[[user_id], 'reset', 60]],
  wasRequested: [[user_id, 'reset', 60]],
  recordProposal: [[user_id]],
  recordChange: [[user_id, hash, hash, other_id]],
  findSeed: [[user_id, 'user@example.com']],
  listSent: [[user_id]],
  isKnown: [[user_id, '203.0.113.7']],
  putToken: [[user_id, 'reset', hash, 'user@example.com', 3_600]],
  findToken: [[hash, ['reset', 'invite']]],
  consumeToken: [[hash, ['reset', 'invite']]],
  voidAnyTokens: [[5_000]],
  voidTokens: [[[user_id], ['reset', 'not_me'], 'user@example.com']],
});
