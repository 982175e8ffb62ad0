import type { Schema } from '../api/client';

/** A change of many users, as the API takes it. */
export type Change = Schema<'ChangeFoundUsersRequest'>;

/** A field that a bulk change can change. */
export type ChangeField = keyof Change;

/** How the value of a field is asked for. */
export type ChangeKind =
  'status' | 'roles' | 'text' | 'timezone' | 'list' | 'scope' | 'boolean' | 'time' | 'json' | 'reset';

/** The fields of a bulk change in the order in which the page offers them. */
export const changeFields: Record<ChangeField, ChangeKind> = {
  status: 'status',
  roles_add: 'roles',
  roles_remove: 'roles',
  roles: 'roles',
  must_change_password: 'boolean',
  second_factor_required_from: 'time',
  reset_second_factors: 'reset',
  allowed_ips: 'list',
  carrier_scope: 'scope',
  locale: 'text',
  timezone: 'timezone',
  attributes: 'json',
};

/** Returns the value that a field starts with when it is added. */
export function initialValue(field: ChangeField): Change[ChangeField] {
  const initial: Record<ChangeKind, Change[ChangeField]> = {
    status: 'disabled',
    roles: [],
    text: null,
    timezone: null,
    list: [],
    scope: [],
    boolean: true,
    time: new Date().toISOString(),
    json: {},
    reset: true,
  };
  return initial[changeFields[field]];
}

/** Returns the fields that cannot be combined with the chosen ones. */
export function excludedFields(change: Change): ChangeField[] {
  if (change.roles !== undefined) return ['roles_add', 'roles_remove'];
  return change.roles_add !== undefined || change.roles_remove !== undefined ? ['roles'] : [];
}
