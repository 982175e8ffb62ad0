import 'reflect-metadata';
import { eventCatalogue } from '../audit/event-catalogue';
import { fieldsOf } from '../http/fields/field-rules';
import { importColumns } from './transfer/files/transfer-columns';
import { ImportRow } from './transfer/users-transfer.dto';
import { type UserField, userFields, userFieldsWith } from './user-fields';
import { ChangeFoundUsersRequest, ChangeUserRequest, CreateUserRequest, PersonalFields } from './users.dto';

const namesOf = (type: Parameters<typeof fieldsOf>[0]) => [...fieldsOf(type).keys()].sort();
const namesWith = (chosen: (field: UserField) => boolean) =>
  Object.entries<UserField>(userFields)
    .filter(([, field]) => chosen(field))
    .map(([name]) => name);

describe('the table of user fields', () => {
  it('agrees with the fields of requests', () => {
    expect(namesOf(PersonalFields)).toEqual(userFieldsWith('self_changeable').sort());
    expect(namesOf(ChangeUserRequest)).toEqual(userFieldsWith('change').sort());
    const onlyInBulk = ['roles_add', 'roles_remove', 'reset_second_factors', 'secure'];
    const changedInBulk = [...userFieldsWith('change', 'bulk_changeable'), ...onlyInBulk];
    expect(namesOf(ChangeFoundUsersRequest)).toEqual(changedInBulk.sort());
    const created = userFieldsWith('creatable').filter((name) => name !== 'status');
    expect(namesOf(CreateUserRequest)).toEqual([...created, 'password'].sort());
    expect(namesOf(ImportRow)).toEqual(Object.keys(importColumns).sort());
  });

  it.each<['user.created' | 'user.changed', (field: UserField) => boolean, string[]]>([
    ['user.created', ({ creatable }) => creatable === true, []],
    ['user.changed', ({ change }) => change !== undefined, ['email_pending']],
  ])('agrees with the personal values of %s in the catalogue of events', (type, recorded, more) => {
    const { personal, impersonal } = eventCatalogue[type];
    const wanted = namesWith((field) => recorded(field) && field.personal === true);
    expect([...personal].sort()).toEqual([...wanted, ...more].sort());
    expect([...impersonal].sort()).toEqual(namesWith((field) => recorded(field) && field.personal !== true).sort());
  });

  it('names the fields without personal values', () => {
    expect(namesWith(({ personal }) => personal !== true)).toEqual([
      ...['user_id', 'user_type', 'carrier_id', 'carrier_scope', 'roles', 'status', 'must_change_password'],
      ...['second_factors', 'second_factor_required_from'],
      ...['created_at', 'created_by', 'updated_at', 'deleted_at', 'version'],
    ]);
  });
});
