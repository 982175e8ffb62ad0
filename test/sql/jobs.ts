import { JobsRepository } from '../../src/platform/jobs/jobs.repository';
import { sqlExamples, user_id } from '../support/contract/sql-examples';

export const jobs = sqlExamples(JobsRepository, {
  add: [['mail', [{ payload: { mail: 'password-changed' }, key: 'example', delay_seconds: 60 }], 0]],
  remove: [[['example']]],
  removeOf: [[[user_id]]],
  runNow: [['00000000-0000-8000-8000-0000000000ff']],
  isRunBy: [['worker-1', '1']],
  countByState: [[]],
  renew: [[['1'], 'pool-1']],
  releaseAbandoned: [[600]],
});
