import { eventBase } from '../../src/events/event-base';
import type { UserAction } from '../../src/users/user-change';
import { UsersRepository } from '../../src/users/users.repository';
import { administrator, carrierUser, limited, named, other_id, sqlExamples, user_id } from '../support/sql-examples';

const user = named('user', {
  user_id: other_id,
  user_type: 'carrier' as const,
  name: 'ada',
  email: 'ada@example.com',
  first_name: 'Ada',
  last_name: 'Lovelace',
  phone: null,
  locale: 'en',
  timezone: null,
  job_title: null,
  carrier_id: 'c1',
  carrier_scope: null,
  roles: ['carrier_user'],
  status: 'invited' as const,
  allowed_ips: [],
  attributes: {},
  must_change_password: false,
});
const grants = { forbidden: ['administrator'], open_to_system: [], open_to_carrier: ['carrier_user'] };
const changed = named('changed', eventBase(administrator, 'user.changed', { operation_id: other_id }));
const addRoles: UserAction = named('addRoles', { kind: 'change', change: { roles_add: ['carrier_user'] } });
const checked = (name: string, action: UserAction) => named(name, { action, grants });
const timezone = checked('changeTimezone', { kind: 'change', change: { timezone: 'Europe/Vienna' } });
const roles = checked('addRoles', addRoles);
const undo = checked('undoDeletion', { kind: 'undo', operation_id: other_id, restores: true });
const carrier = named('carrier', { kind: 'field', field: 'carrier_id', operator: 'eq', value: 'c1' } as const);

export const users = sqlExamples(UsersRepository, {
  find: [
    [user_id, administrator],
    [user_id, carrierUser],
  ],
  findWithDeleted: [[user_id, limited]],
  findByLogin: [
    ['ada', administrator],
    ['ada@example.com', administrator],
  ],
  findAdministrator: [[user_id, administrator]],
  list: [
    [administrator, {}, false],
    [limited, { q: 'ada', status: 'active' }, false],
  ],
  listByIds: [[[user_id], limited]],
  findTaken: [['ada', 'ada@example.com']],
  insert: [[user, user_id, false]],
  preview: [[limited, timezone, [carrier], 'seed']],
  apply: [
    [administrator, timezone, [user_id], changed],
    [limited, roles, [user_id], changed],
    [administrator, undo, [user_id], changed],
  ],
  lockAdministrators: [[administrator, addRoles, [user_id]]],
  dropProposedEmails: [[[user_id]]],
  notePassword: [[user_id, null, { password_changed_at: null }]],
  confirmEmail: [[user_id, 'ada@example.com']],
  restore: [[user_id, ['carrier_user']]],
  isEmpty: [[]],
  purge: [[[user_id]]],
});
