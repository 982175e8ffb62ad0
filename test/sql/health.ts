import { HealthRepository } from '../../src/health/health.repository';
import { sqlExamples } from '../support/sql-examples';

export const health = sqlExamples(HealthRepository, { ping: [[]], countOverdueJobs: [[]] });
