import { HealthRepository } from '../../src/health/health.repository';
import { sqlExamples } from '../support/contract/sql-examples';

export const health = sqlExamples(HealthRepository, { ping: [[]], countOverdueJobs: [[]] });
