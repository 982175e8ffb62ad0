import { FactorsRepository } from '../../src/auth/second-factors/factors.repository';
import { hash, other_id, sqlExamples, user_id } from '../support/contract/sql-examples';

const step = 59_816_000;
const key_id = Buffer.alloc(4, 1);

export const factors = sqlExamples(FactorsRepository, {
  list: [[user_id]],
  summary: [[user_id, 'example.com']],
  insertTotp: [[{ factor_id: other_id, user_id, name: 'Phone', secret: hash }]],
  deleteUnconfirmed: [[user_id]],
  findUnconfirmed: [[user_id, other_id]],
  listSecrets: [[user_id]],
  acceptStep: [[user_id, other_id, step, true]],
  countWrong: [[other_id, 5]],
  rename: [[user_id, other_id, 'Phone']],
  delete: [[user_id, other_id]],
  deleteAll: [[[user_id]]],
  insertCodes: [[user_id, [hash]]],
  deleteCodes: [[[user_id]]],
  useCode: [[user_id, hash]],
  removeExpired: [[500]],
  listOutdated: [[key_id, user_id, 500]],
  replaceSecrets: [[[{ factor_id: other_id, before: hash, after: hash }]]],
  countOutdated: [[key_id]],
});
