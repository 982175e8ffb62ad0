import { FactorUpkeepRepository } from '../../src/credentials/factors/factor-upkeep.repository';
import { hash, other_id, sqlExamples, user_id } from '../support/sql-examples';

const key_id = Buffer.alloc(4, 1);

export const factorUpkeep = sqlExamples(FactorUpkeepRepository, {
  removeExpired: [[500]],
  listOutdated: [[key_id, user_id, 500]],
  replaceSecrets: [[[{ factor_id: other_id, before: hash, after: hash }]]],
  countOutdated: [[key_id]],
});
