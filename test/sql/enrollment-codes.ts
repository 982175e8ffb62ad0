import { EnrollmentCodesRepository } from '../../src/auth/second-factors/codes/enrollment-codes.repository';
import { hash, sqlExamples, user_id } from '../support/contract/sql-examples';

export const enrollmentCodes = sqlExamples(EnrollmentCodesRepository, {
  request: [[user_id]],
  demand: [[[user_id]]],
  isNeeded: [[user_id]],
  accept: [[user_id, hash, 5]],
  delete: [[user_id]],
  voidAll: [[]],
  put: [[user_id, hash, 900]],
});
