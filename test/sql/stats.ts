import { StatsRepository } from '../../src/stats/stats.repository';
import { administrator, carrierUser, limited, sqlExamples } from '../support/sql-examples';

export const stats = sqlExamples(StatsRepository, {
  lock: [[]],
  isDue: [[]],
  findAsOf: [[]],
  refreshCounts: [[]],
  refreshLogins: [[]],
  noteRefresh: [[]],
  listCounts: [[administrator], [limited], [carrierUser]],
  listLogins: [[administrator], [limited]],
  countRunning: [[{ scope: limited, permissions: ['user:update'] }]],
  countExpiringKeys: [[limited, 14]],
});
