import { StatsRepository } from '../../src/stats/stats.repository';
import { limited, sqlExamples } from '../support/contract/sql-examples';

export const stats = sqlExamples(StatsRepository, {
  lock: [[]],
  isDue: [[]],
  findAge: [[null]],
  refreshCounts: [[]],
  refreshLogins: [[]],
  noteRefresh: [[]],
  listCounts: [[limited]],
  listLogins: [[limited]],
  countRunning: [[{ scope: limited, permissions: ['user:update'] }]],
  countExpiringKeys: [[limited, 14]],
  countWebhooks: [[limited]],
});
