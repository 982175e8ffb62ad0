import { ExpiredChallengesRepository } from '../../src/logins/expired-challenges.repository';
import { sqlExamples } from '../support/sql-examples';

export const expiredChallenges = sqlExamples(ExpiredChallengesRepository, {
  take: [[1_000]],
});
