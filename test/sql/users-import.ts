import { eventBase } from '../../src/audit/event-base';
import { newUserValues } from '../../src/users/user-fields';
import { UsersImportRepository } from '../../src/users/transfer/users-import.repository';
import { administrator, limited, named, other_id, sqlExamples, user_id } from '../support/contract/sql-examples';

const event = named('eventBase', eventBase(administrator, 'user.created'));
const values = { user_type: 'carrier', carrier_id: 'c1', name: 'jane', email: 'jane@example.com', status: 'invited' };
const user = named('user', {
  ...newUserValues(values),
  line: 1,
  user_id: other_id,
  password_hash: null,
  created_at: null,
  email_verified_at: null,
  last_login_at: null,
  last_login_ip: null,
  last_seen_at: null,
  password_changed_at: null,
});

export const usersImport = sqlExamples(UsersImportRepository, {
  create: [[[user], user_id, event]],
  findConflicts: [[[user], limited]],
});
