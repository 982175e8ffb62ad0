import { AttacksRepository } from '../../src/stats/attacks.repository';
import { administrator, limited, sqlExamples } from '../support/contract/sql-examples';

export const attacks = sqlExamples(AttacksRepository, {
  noteBlocks: [[]],
  listNetworks: [[administrator], [limited]],
  listUsers: [[limited]],
  findRate: [[limited]],
});
