import { EnrollmentCodesRepository } from '../../src/credentials/factors/enrollment-codes.repository';
import { hash, sqlExamples, user_id } from '../support/sql-examples';

export const enrollmentCodes = sqlExamples(EnrollmentCodesRepository, {
  put: [[user_id, hash, 900]],
});
