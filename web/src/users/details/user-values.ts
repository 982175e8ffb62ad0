import { isObject, own } from '../../own';
import type { User, UserChanges } from '../data';
import { type PersonField, personFields } from '../fields';

/** The values of the form of a user: texts as typed, lists as in the API. */
export interface UserValues extends Record<PersonField, string> {
  name: string;
  email: string;
  roles: string[];
  /** null = all carriers */
  carrier_scope: string[] | null;
  allowed_ips: string[];
  must_change_password: boolean;
  /** RFC 3339, or empty */
  second_factor_required_from: string;
  /** JSON */
  attributes: string;
}

/** Name of a field of the form. */
export type UserField = keyof UserValues;

/** Returns the values of a form for a user. */
export function valuesOf(user: User): UserValues {
  return {
    ...(Object.fromEntries(personFields.map((field) => [field, user[field] ?? ''])) as Record<PersonField, string>),
    name: user.name,
    email: user.email,
    roles: user.roles,
    carrier_scope: user.carrier_scope,
    allowed_ips: user.allowed_ips,
    must_change_password: user.must_change_password,
    second_factor_required_from: user.second_factor_required_from ?? '',
    attributes: Object.keys(user.attributes).length === 0 ? '' : JSON.stringify(user.attributes, null, 2),
  };
}

/** Returns whether a text is a JSON object, or empty. */
export function isJsonObject(text: string): boolean {
  try {
    return isObject(JSON.parse(text.trim() || '{}'));
  } catch {
    return false;
  }
}

/** Returns the body of `PATCH /user/{user_id}` that changes some fields. */
export function changesOf(before: UserValues, after: UserValues, fields: readonly UserField[]): UserChanges {
  return Object.fromEntries(fields.map((field) => [field, changeOf(field, before, after)]));
}

function changeOf(field: UserField, before: UserValues, after: UserValues): unknown {
  if (field === 'attributes') return mergePatch(parse(before.attributes), parse(after.attributes));
  const value = after[field];
  return typeof value === 'string' ? value.trim() || null : value;
}

const parse = (text: string) => JSON.parse(text.trim() || '{}') as Record<string, unknown>;

/** Returns the merge patch between two objects (RFC 7396): null removes a key. */
function mergePatch(before: Record<string, unknown>, after: Record<string, unknown>): Record<string, unknown> {
  const patch = Object.entries(after).flatMap(([key, value]): [string, unknown][] => {
    const old = own(before, key);
    if (JSON.stringify(old) === JSON.stringify(value)) return [];
    return [[key, isObject(old) && isObject(value) ? mergePatch(old, value) : value]];
  });
  const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
  return Object.fromEntries([...patch, ...removed.map((key): [string, null] => [key, null])]);
}
