import { HashCostsRepository } from '../../src/credentials/hash-costs.repository';
import { sqlExamples } from '../support/sql-examples';

const costs = [{ computation: 'argon2', cost: 19_456 }];

export const hashCosts = sqlExamples(HashCostsRepository, {
  list: [[]],
  raise: [[costs]],
  replace: [[costs]],
  lock: [[]],
  listForeign: [[]],
});
