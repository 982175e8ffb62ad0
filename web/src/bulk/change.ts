import type { Schema } from '../api/client';
import { type FieldWith, fieldsWith } from '../users/fields';

/** The body of a bulk change. */
export type Change = Schema<'ChangeFoundUsersRequest'>;

/** A field that a bulk change can change. */
export type ChangeField = keyof Change;

/** The kind of input for a field. */
export type ChangeKind =
  'status' | 'roles' | 'text' | 'list' | 'scope' | 'boolean' | 'time' | 'json' | 'reset' | 'secure' | 'invite';

const texts = Object.fromEntries(fieldsWith('bulk').map((field) => [field, 'text']));

/** The fields of a bulk change with their inputs, in the order of the menu. */
export const changeFields: Record<ChangeField, ChangeKind> = {
  status: 'status',
  roles_add: 'roles',
  roles_remove: 'roles',
  roles: 'roles',
  must_change_password: 'boolean',
  second_factor_required_from: 'time',
  reset_second_factors: 'reset',
  secure: 'secure',
  invite: 'invite',
  allowed_ips: 'list',
  carrier_scope: 'scope',
  ...(texts as Record<FieldWith<'bulk'>, 'text'>),
  attributes: 'json',
};

/** Returns the initial value of a field. A status must be chosen. */
export function initialValue(field: ChangeField): Change[ChangeField] {
  const initial: Record<ChangeKind, Change[ChangeField]> = {
    status: undefined,
    roles: [],
    text: null,
    list: [],
    scope: [],
    boolean: true,
    time: new Date().toISOString(),
    json: {},
    reset: true,
    secure: true,
    invite: true,
  };
  return initial[changeFields[field]];
}

/** Returns the fields that cannot be combined with the fields of a change. */
export function excludedFields(change: Change): ChangeField[] {
  if (change.secure !== undefined || change.invite !== undefined) return Object.keys(changeFields) as ChangeField[];
  return [...excludedRoles(change), ...(Object.keys(change).length > 0 ? (['secure', 'invite'] as const) : [])];
}

/** Returns whether a change has fields, and a value for each of them. */
export function isComplete(change: Change): boolean {
  const values = Object.values(change);
  return values.length > 0 && values.every((value) => value !== undefined);
}

/** Returns whether a change cannot be undone, not even in part. */
export function isFinal(change: Change | null): boolean {
  return change?.secure === true || change?.invite === true;
}

function excludedRoles(change: Change): ChangeField[] {
  if (change.roles !== undefined) return ['roles_add', 'roles_remove'];
  return change.roles_add !== undefined || change.roles_remove !== undefined ? ['roles'] : [];
}

/**
 * Returns which users a change logs out. A deletion (`null`) and the status `disabled` log out all
 * of them.
 */
export function logoutsOf(change: Change | null): ('all' | 'secured' | 'factors' | 'addresses')[] {
  if (change === null || change.status === 'disabled') return ['all'];
  if (change.secure === true) return ['secured'];
  return [
    ...(change.reset_second_factors === true ? (['factors'] as const) : []),
    ...((change.allowed_ips ?? []).length > 0 ? (['addresses'] as const) : []),
  ];
}

/** What a bulk change does, for the texts that name it. */
export type BulkAction = 'change' | 'disable' | 'invite' | 'delete';

/** The changes of the actions that need no input. `null` = delete. */
export const readyChanges = { disable: { status: 'disabled' }, invite: { invite: true }, delete: null } as const;

/** Returns the action of a request. */
export function actionOf({ change }: { change: Change | null }): BulkAction {
  if (change === null) return 'delete';
  if (change.invite === true) return 'invite';
  return change.status === 'disabled' && Object.keys(change).length === 1 ? 'disable' : 'change';
}
