import { LiveLoginsRepository } from '../../src/auth/tokens/live-logins.repository';
import { other_id, sqlExamples, user_id } from '../support/contract/sql-examples';

export const liveLogins = sqlExamples(LiveLoginsRepository, {
  find: [[other_id, user_id]],
  findActing: [[user_id, other_id]],
  note: [[[{ session_id: other_id, user_id, ago_ms: 500 }], { system: 1_800, carrier: 3_600 }]],
});
