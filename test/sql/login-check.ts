import { LoginCheckRepository } from '../../src/auth/user-security/login-check.repository';
import { administrator, carrierUser, sqlExamples, user_id } from '../support/contract/sql-examples';

export const loginCheck = sqlExamples(LoginCheckRepository, {
  find: [
    [user_id, administrator, true],
    [user_id, carrierUser, false],
  ],
  listEvents: [
    [user_id, administrator],
    [user_id, carrierUser],
  ],
  findBlock: [[user_id, '203.0.113.7']],
});
