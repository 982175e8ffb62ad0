import { CredentialsRepository } from '../../src/credentials/credentials.repository';
import { hash, sqlExamples, user_id } from '../support/sql-examples';

export const credentials = sqlExamples(CredentialsRepository, {
  upsertHash: [[user_id, '$argon2id$new', null]],
  keep: [[user_id, '$argon2id$verified', '$argon2id$renewed', true]],
  requestToken: [[user_id, 'reset', 60]],
  wasRequested: [[user_id, 'reset', 60]],
  putToken: [[user_id, 'reset', hash, 'user@example.com', 3_600]],
  findToken: [[hash, ['reset', 'invite']]],
  consumeToken: [[hash, ['reset', 'invite']]],
  voidTokens: [[[user_id], ['reset', 'invite']]],
});
