import { LRUCache } from 'lru-cache';
import type { UserEntity } from './user.entity';

/**
 * Form of a field in a CSV file of users. `code` is text that needs neither quotes nor escapes,
 * `list` is a list of texts without `;`.
 */
export type CellForm = 'text' | 'code' | 'list' | 'json' | 'boolean' | 'time' | 'address';

/** Properties of a field of the user record. */
export interface UserField {
  /** type of the column */
  type: 'uuid' | 'text' | 'text[]' | 'boolean' | 'jsonb' | 'cidr[]' | 'inet' | 'timestamptz' | 'integer';
  /** set for personal values, which a purge erases from the audit log */
  personal?: true;
  /** set for values that identify a person; a purge also erases them from filters of operations */
  identifying?: true;
  /** set for values of a new user; the audit log records them */
  creatable?: true;
  /** value of a new user without the field, and of a cleared field; null if not set */
  empty?: unknown;
  /** set for fields that can change; `computed` if the new value depends on the old row */
  change?: 'as_given' | 'computed';
  /** set for fields that users may change for themselves without `user:update` */
  self_changeable?: true;
  /** set for fields that a bulk change can contain */
  bulk_changeable?: true;
  /** table of the column if it is not `users`; only activity writes the field (ADR 12) */
  table?: 'user_logins' | 'user_seen';
  /** set for fields of import and export files */
  cell?: CellForm;
  /** set for text fields with a copy in `user_search`: the meaning of their filter */
  filter?: string;
  /** text of `user_search` that contains the field: `names` is found by `q`, `others` is not */
  searched?: 'names' | 'others';
}

/** Properties of the texts that users may change for themselves. */
const ownText = {
  type: 'text',
  personal: true,
  creatable: true,
  change: 'as_given',
  self_changeable: true,
  cell: 'text',
} as const;
/** Properties of the fields that a bulk change and a new user can contain. */
const shared = { creatable: true, bulk_changeable: true } as const;

/**
 * Defines the fields of the user record, in the order of responses and files.
 * Lists, creation, changes, bulk changes, undo, import, export and purge follow this table.
 */
export const userFields = {
  user_id: { type: 'uuid', cell: 'code' },
  user_type: { type: 'text', creatable: true, cell: 'code' },
  name: { type: 'text', personal: true, identifying: true, creatable: true, change: 'as_given', cell: 'text' },
  email: { type: 'text', personal: true, identifying: true, creatable: true, change: 'computed', cell: 'text' },
  email_pending: { type: 'text', personal: true, identifying: true },
  email_verified_at: { type: 'timestamptz', personal: true, cell: 'time' },
  first_name: { ...ownText, identifying: true, empty: '', filter: 'First name', searched: 'names' },
  last_name: { ...ownText, identifying: true, empty: '', filter: 'Last name', searched: 'names' },
  phone: { ...ownText, identifying: true, filter: 'Phone number', searched: 'others' },
  job_title: { ...ownText, identifying: true, filter: 'Job title', searched: 'names' },
  department: { ...ownText, bulk_changeable: true, filter: 'Department', searched: 'names' },
  locale: { ...ownText, bulk_changeable: true, cell: 'code', filter: 'Language', searched: 'others' },
  timezone: { ...ownText, bulk_changeable: true, cell: 'code', filter: 'Time zone', searched: 'others' },
  carrier_id: { type: 'text', creatable: true, cell: 'text' },
  carrier_scope: { ...shared, type: 'text[]', change: 'as_given', cell: 'list' },
  roles: { ...shared, type: 'text[]', empty: [], change: 'computed', cell: 'list' },
  status: { ...shared, type: 'text', change: 'as_given', cell: 'code' },
  allowed_ips: { ...shared, type: 'cidr[]', personal: true, empty: [], change: 'computed', cell: 'list' },
  attributes: { ...shared, type: 'jsonb', personal: true, empty: {}, change: 'computed', cell: 'json' },
  must_change_password: { ...shared, type: 'boolean', empty: false, change: 'as_given', cell: 'boolean' },
  second_factors: { type: 'text[]' },
  second_factor_required_from: { ...shared, type: 'timestamptz', change: 'as_given' },
  created_at: { type: 'timestamptz', cell: 'time' },
  created_by: { type: 'uuid' },
  updated_at: { type: 'timestamptz' },
  last_login_at: { type: 'timestamptz', personal: true, table: 'user_logins', cell: 'time' },
  last_login_ip: { type: 'inet', personal: true, table: 'user_logins', cell: 'address' },
  last_seen_at: { type: 'timestamptz', personal: true, table: 'user_seen', cell: 'time' },
  password_changed_at: { type: 'timestamptz', personal: true, cell: 'time' },
  locked_until: { type: 'timestamptz', personal: true },
  deleted_at: { type: 'timestamptz' },
  version: { type: 'integer' },
} as const satisfies Record<keyof UserEntity, UserField>;

type Fields = typeof userFields;

/** Names of the user fields that have all these properties. */
export type UserFieldWith<Properties extends keyof UserField> = {
  [Name in keyof Fields]: Fields[Name] extends Record<Properties, unknown> ? Name : never;
}[keyof Fields];

/** Values of a new user. */
export type NewUserValues = Pick<UserEntity, UserFieldWith<'creatable'>>;

/** Returns the names of the user fields that have all these properties, in table order. */
export function userFieldsWith<Properties extends keyof UserField>(
  ...properties: Properties[]
): UserFieldWith<Properties>[] {
  const names = Object.keys(userFields) as (keyof Fields)[];
  return names.filter((name) => properties.every((property) => property in userFields[name])) as never[];
}

/** Returns what `render` makes of each field that has a copy in `user_search`. */
export function searchedFields<Result>(
  render: (name: string, field: UserField & Required<Pick<UserField, 'filter' | 'searched'>>) => Result,
): Record<string, Result> {
  const names = userFieldsWith('filter', 'searched');
  return Object.fromEntries(names.map((name) => [name, render(name, userFields[name])]));
}

/** Returns the stored value of a field: the given one, or the empty value of the field. */
export function storedValue(name: keyof Fields, value: unknown): unknown {
  const { empty = null }: UserField = userFields[name];
  // An empty text clears a field that can be null.
  return value === '' ? empty : (value ?? empty);
}

/** Returns the values of a new user: the given ones, and the empty value of each other field. */
export function newUserValues(given: { [Name in keyof NewUserValues]?: unknown }): NewUserValues {
  const entries = userFieldsWith('creatable').map((name) => [name, storedValue(name, given[name])]);
  return Object.fromEntries(entries) as NewUserValues;
}

/**
 * Matches login names. They have no `@`, so that no name equals an e-mail address of another user
 * (Keycloak GHSA-j9xq-j329-2xvg).
 */
export const nameForm = /^[A-Za-z0-9._-]+$/;
/** Matches ids of carriers in the platform. */
export const carrierIdForm = /^[A-Za-z0-9._-]+$/;
/** Matches E.164 phone numbers. */
export const phoneForm = /^\+[1-9][0-9]{6,14}$/;

const language = '([A-Za-z]{2,3}|[A-Za-z]{5,8})';
const region = '(-([A-Za-z]{2}|[0-9]{3}))?';
const variant = '(-([A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))?';
const keyword = '([A-Za-z0-9]{3,8}|[A-Za-z0-9][A-Za-z])';
/**
 * Matches language tags of BCP 47: language, script, region, at most one variant, and the Unicode
 * extension (`de-DE-u-co-phonebk`). `Intl` accepts each match, except with repeated variants or
 * extensions.
 */
export const localeForm = new RegExp(`^${language}(-[A-Za-z]{4})?${region}${variant}(-u(-${keyword})+)?$`);

/** Matches the form of time zone names. `isTimezone` checks whether the time zone exists. */
export const timezoneForm = /^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/;

const timezoneMax = 64;
/** Checked names of time zones: `Intl` takes 50 µs, and users have few different time zones. */
const checkedTimezones = new LRUCache<string, boolean>({ max: 1_000 });

/** Returns whether a text names a time zone of the IANA database. */
export function isTimezone(text: string): boolean {
  if (text.length > timezoneMax || !timezoneForm.test(text)) return false;
  const known = checkedTimezones.get(text) ?? isSupportedTimezone(text);
  checkedTimezones.set(text, known);
  return known;
}

function isSupportedTimezone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
