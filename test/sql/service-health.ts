import { ServiceHealthRepository } from '../../src/stats/service-health.repository';
import { sqlExamples } from '../support/contract/sql-examples';

export const serviceHealth = sqlExamples(ServiceHealthRepository, { read: [[]] });
