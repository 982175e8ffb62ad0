import 'reflect-metadata';
import { eventCatalogue } from '../audit/event-catalogue';
import { fieldsOf } from '../http/fields/field-rules';
import { importColumns } from './transfer/files/transfer-columns';
import { ImportRow } from './transfer/users-transfer.dto';
import {
  carrierIdForm,
  isTimezone,
  localeForm,
  nameForm,
  newUserValues,
  phoneForm,
  searchedFields,
  storedValue,
  timezoneForm,
  type UserField,
  userFields,
  userFieldsWith,
} from './user-fields';
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
    const onlyInBulk = ['roles_add', 'roles_remove', 'reset_second_factors', 'secure', 'invite'];
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

describe('a value of a user field', () => {
  it.each<[keyof typeof userFields, unknown, unknown]>([
    ['first_name', '', ''],
    ['first_name', undefined, ''],
    ['phone', '', null],
    ['phone', null, null],
    ['phone', '+4312345678', '+4312345678'],
    ['roles', null, []],
    ['attributes', { tier: 1 }, { tier: 1 }],
    ['must_change_password', undefined, false],
    ['must_change_password', true, true],
  ])('%s is stored as given or as the empty value: %j, %j', (name, given, stored) => {
    expect(storedValue(name, given)).toEqual(stored);
  });

  it('is empty for a new user unless it is given', () => {
    const given = { user_type: 'carrier', name: 'ada', email: 'ada@example.com', status: 'active', carrier_id: 'c1' };
    const empty = { first_name: '', last_name: '', roles: [], allowed_ips: [], attributes: {} };
    const unset = { phone: null, job_title: null, department: null, locale: null, timezone: null };
    const more = { must_change_password: false, carrier_scope: null, second_factor_required_from: null };
    expect(newUserValues(given)).toEqual({ ...given, ...empty, ...unset, ...more });
  });

  it('is found by `q` if it is a name', () => {
    const names = ['first_name', 'last_name', 'job_title', 'department'].map((name) => [name, 'names']);
    const others = ['phone', 'locale', 'timezone'].map((name) => [name, 'others']);
    expect(searchedFields((_name, { searched }) => searched)).toEqual(Object.fromEntries([...names, ...others]));
  });

  const matches = (form: RegExp) => (text: string) => form.test(text);
  it.each<[string, (text: string) => boolean, string[], string[]]>([
    ['name', matches(nameForm), ['a', 'a.B-c_9'], ['', ' ada', 'ada ', 'a@b', 'a b']],
    ['carrier_id', matches(carrierIdForm), ['c', 'a.B-c_9'], ['', ' c1', 'c1 ', 'c/1']],
    [
      ...['phone', matches(phoneForm), ['+1234567', '+123456789012345']],
      ['+123456', '+1234567890123456', '1234567', '+01234567', ' +1234567', '+1234567 ', '+12345a7'],
    ] as never,
    [
      ...['locale', matches(localeForm)],
      [
        'de',
        'deu',
        'abcde',
        'abcdefgh',
        'de-Latn-AT',
        'de-419',
        'de-1901',
        'sl-nedis',
        'de-DE-u-co-phonebk',
        'de-u-1a',
      ],
      ['', 'd', 'abcd', 'abcdefghi', ' de', 'de ', 'de-DEU', 'de-12', 'de-1901-1996', 'de-u', 'de-u-a', 'de-u-a1'],
    ] as never,
    ['form of timezone', matches(timezoneForm), ['GMT+1', 'Mars/Base'], ['', ' UTC', 'UTC/', '/UTC', '+01:00']],
    ['timezone', isTimezone, ['UTC', 'Etc/GMT+1', 'Europe/Vienna'], ['', 'Mars/Base', ' UTC', 'UTC/', '+01:00']],
  ])('%s has its form', (_name, isValid, valid, invalid) => {
    for (const text of valid) expect([text, isValid(text)]).toEqual([text, true]);
    for (const text of [...invalid, ...invalid]) expect([text, isValid(text)]).toEqual([text, false]);
  });
});
