import { UserFactorsRepository } from '../../src/logins/factors/user-factors.repository';
import { other_id, sqlExamples, user_id } from '../support/sql-examples';

export const userFactors = sqlExamples(UserFactorsRepository, {
  lock: [[user_id]],
  findOwner: [[user_id, other_id]],
  deleteChallenges: [[[user_id]]],
});
