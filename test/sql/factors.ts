import { FactorsRepository } from '../../src/credentials/factors/factors.repository';
import { hash, other_id, sqlExamples, user_id } from '../support/sql-examples';

export const factors = sqlExamples(FactorsRepository, {
  summary: [[user_id]],
  listSecrets: [[user_id]],
  acceptStep: [[user_id, other_id, 59_816_000]],
  deleteCode: [[user_id, hash]],
});
