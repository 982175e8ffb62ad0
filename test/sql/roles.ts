import { RolesRepository } from '../../src/access/roles/roles.repository';
import { named, sqlExamples } from '../support/contract/sql-examples';

const role = named('role', {
  name: 'dispatcher',
  description: 'Plans tours',
  user_types: ['carrier' as const],
  permissions: ['tour:plan'],
  may_grant: [],
  second_factor_required_from: null,
  built_in: false,
  version: 1,
});

export const roles = sqlExamples(RolesRepository, {
  listAll: [[]],
  find: [['dispatcher']],
  freeze: [[]],
  freezeForBulk: [[]],
  lock: [[]],
  lockAdministrators: [[]],
  hasAdministrator: [[]],
  userTypesOfHolders: [['dispatcher']],
  insert: [[role]],
  update: [[role]],
  delete: [['dispatcher']],
});
