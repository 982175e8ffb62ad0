import { OperationRetentionRepository } from '../../src/operations/operation-retention.repository';
import { sqlExamples } from '../support/sql-examples';

export const operationRetention = sqlExamples(OperationRetentionRepository, { removeOld: [[90, 100]] });
