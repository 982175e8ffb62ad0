import { RateLimitsRepository } from '../../src/access/rate-limits/rate-limits.repository';
import { hash, sqlExamples } from '../support/contract/sql-examples';

export const rateLimits = sqlExamples(RateLimitsRepository, {
  add: [[hash, 1, 60]],
  take: [[[hash], 10, 60]],
  find: [[[hash]]],
  removeEnded: [[100]],
});
