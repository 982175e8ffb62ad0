import { eventBase } from '../../src/audit/event-base';
import type { UserAction } from '../../src/users/changes/user-change';
import { newUserValues } from '../../src/users/user-fields';
import { UsersRepository } from '../../src/users/users.repository';
import { userListQuery } from '../support/contract/list-queries';
import {
  administrator,
  carrierUser,
  lastNameLike,
  limited,
  named,
  operation_id,
  other_id,
  sqlExamples,
  times,
  user_id,
} from '../support/contract/sql-examples';

const event = named('eventBase', eventBase(administrator, 'user.changed'));
const grants = named('grants', { forbidden: ['administrator'], open_to_system: [], open_to_carrier: ['dispatcher'] });
const values = { user_type: 'carrier', carrier_id: 'c1', name: 'jane', email: 'jane@example.com', status: 'invited' };
const user = named('user', { ...newUserValues(values), user_id: other_id, has_password: false });

const changeOne: UserAction = { kind: 'change', change: { email: 'new@example.com', phone: null }, versions: [1] };
const changeMany: UserAction = { kind: 'change', change: { status: 'disabled', roles_add: ['dispatcher'] } };
const undo: UserAction = { kind: 'undo', operation_id, times, restores: true };

export const users = sqlExamples(UsersRepository, {
  find: [[user_id, limited]],
  findWithDeleted: [[user_id, limited]],
  findByLogin: [['user@example.com', limited]],
  findAdministrator: [[user_id, limited]],
  list: [
    [administrator, userListQuery()],
    [carrierUser, userListQuery({ last_name_like: 'doe', order_by: 'last_name', page: '2', deleted: 'true' })],
  ],
  listByIds: [[[user_id], limited]],
  findHiddenConflicts: [[[user_id], limited]],
  insert: [[user, user_id, event, { name: { after: 'jane' } }]],
  preview: [[limited, { action: changeMany, grants }, [lastNameLike], 'seed']],
  apply: [
    [limited, { action: changeOne, grants }, [user_id], event],
    [administrator, { action: { kind: 'delete' }, grants }, [user_id], event],
    [administrator, { action: undo, grants }, [user_id], event],
  ],
  lockAdministrators: [[limited, { kind: 'delete' }, [user_id]]],
  dropProposedEmails: [[[user_id]]],
  notePassword: [[user_id, 'user@example.com', null, true]],
  confirmEmail: [[user_id, 'new@example.com']],
  restore: [[user_id, 1, ['dispatcher']]],
  isEmpty: [[]],
  lockDeleted: [[90, 100]],
  purge: [[[user_id]]],
});
