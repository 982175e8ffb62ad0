import type { Actor } from '../access/actor';
import { mayGiveScope, mayReach } from '../access/scope';
import type { FieldError } from '../common/errors/app-error';
import { checkFields, fieldsOf } from '../common/http/field-rules';
import { newId } from '../common/random';
import { importableHash, type RefusalBudget, slowsRefusals } from '../credentials/credentials.service';
import type { Grants } from '../roles/roles.service';
import { inconsistencyOf } from '../users/user-creation.service';
import { newUserValues, type NewUserValues } from '../users/user-fields';
import { ImportRow } from './users-transfer.dto';

const fields = fieldsOf(ImportRow);
const times = ['created_at', 'email_verified_at', 'last_login_at', 'last_seen_at', 'password_changed_at'] as const;
const clockSkewMs = 60_000;
const pointerMax = 256;

/** The user of a row. Null stands for no value. */
export type ImportedUser = NewUserValues &
  Record<(typeof times)[number], string | null> & {
    line: number;
    user_id: string;
    last_login_ip: string | null;
    password_hash: string | null;
  };

/** Everything that decides whether a row becomes a user. */
export interface ImportContext {
  actor: Actor;
  grants: Grants;
  /** later times are rejected */
  now: Date;
  /** Argon2id hashes that replace the MD5 hashes, by line */
  wrapped: Map<number, string>;
  /** limits the cost of further hashes of other systems */
  budget: RefusalBudget;
}

/**
 * Returns the first fault of a row that needs neither the database nor the caller to find: in its
 * fields, its times or the form of its hash. Changes the values to their canonical form.
 */
export function rowFault(values: Record<string, unknown>, now: Date): FieldError | null {
  const [wrong] = checkFields(fields, values);
  if (wrong !== undefined) return wrong;
  const row = values as unknown as ImportRow;
  const future = times.find((name) => Date.parse(row[name] ?? '') > now.getTime() + clockSkewMs);
  if (future !== undefined)
    return { pointer: `/${future}`, code: 'field.not_allowed', detail: 'must not be in the future' };
  return inconsistencyOf(row) ?? hashFault(row);
}

/**
 * Returns the user of a row, or the fault of the row.
 * Applies the rules of `POST /user/create`, so that a caller cannot import a user whom they could
 * not create, and the rules of the fields that only files have. Changes the row.
 */
export function readRow(
  line: number,
  values: Record<string, unknown>,
  context: ImportContext,
): ImportedUser | FieldError {
  const { actor, grants, now, wrapped, budget } = context;
  const fault = rowFault(values, now);
  if (fault !== null) return fault;
  const row = values as unknown as ImportRow;
  return (
    permissionFault(actor, grants, row) ??
    costFault(budget, row) ??
    toUser(line, row, wrapped.get(line) ?? row.password_hash ?? null)
  );
}

/**
 * Returns a fault for storage. Drops a long pointer: an unknown field name may fill a whole row.
 */
export function shortFault({ pointer = '', code, detail }: FieldError): FieldError {
  return { pointer: pointer.length > pointerMax ? '' : pointer, code, detail };
}

/** Returns whether a hash is an unsalted MD5 hash, which is stored only wrapped in Argon2id. */
export function isMd5(hash: unknown): hash is string {
  if (typeof hash !== 'string' || hash.length !== 32) return false;
  const read = importableHash(hash);
  return typeof read !== 'string' && read.form === 'md5';
}

function permissionFault(actor: Actor, grants: Grants, row: ImportRow): FieldError | null {
  const { user_type, carrier_id = null, carrier_scope = null, roles = [], password_hash = null } = row;
  if (!mayReach(actor, { user_type, carrier_id }))
    return { pointer: '/carrier_id', code: 'access.denied', detail: 'is outside your scope' };
  if (user_type === 'system' && !mayGiveScope(actor, carrier_scope))
    return { pointer: '/carrier_scope', code: 'access.grant_exceeds_own', detail: 'exceeds your own scope' };
  const open = user_type === 'system' ? grants.open_to_system : grants.open_to_carrier;
  if (!roles.every((role) => open.includes(role)))
    return {
      pointer: '/roles',
      code: 'field.not_allowed',
      detail: 'contains a role that does not exist or is not open to this kind of user',
    };
  if (roles.some((role) => grants.forbidden.includes(role)))
    return { pointer: '/roles', code: 'access.grant_exceeds_own', detail: 'contains a role that you may not grant' };
  // The cost of each rejected login grows with these hashes, for users of other carriers too (L21).
  if (password_hash !== null && isLimited(actor) && slowsRefusals(password_hash))
    return {
      pointer: '/password_hash',
      code: 'access.denied',
      detail: 'must be an MD5 hash; only System Users without carrier_scope can import hashes of other systems',
    };
  return null;
}

function costFault(budget: RefusalBudget, { password_hash = null }: ImportRow): FieldError | null {
  if (password_hash === null || budget.admits(password_hash)) return null;
  return {
    pointer: '/password_hash',
    code: 'field.not_allowed',
    detail: 'must cost less, because the stored hashes already use up the limit',
  };
}

function isLimited({ user_type, carrier_scope }: Actor): boolean {
  return user_type === 'carrier' || carrier_scope !== null;
}

function hashFault({ password_hash = null, status }: ImportRow): FieldError | null {
  if (password_hash === null) return null;
  const read = importableHash(password_hash);
  if (typeof read === 'string')
    return { pointer: '/password_hash', code: 'field.not_allowed', detail: `is not accepted: ${read}` };
  return status === 'invited'
    ? { pointer: '/status', code: 'field.not_allowed', detail: 'must not be `invited` for a user with a password' }
    : null;
}

/** Returns the user of a valid row. A user without a password is invited instead of active. */
function toUser(line: number, row: ImportRow, password_hash: string | null): ImportedUser {
  const status = row.status ?? 'active';
  const given = Object.fromEntries(times.map((name) => [name, toUtc(row[name])]));
  return {
    ...newUserValues(row),
    ...(given as Record<(typeof times)[number], string | null>),
    line,
    user_id: row.user_id?.toLowerCase() ?? newId(),
    roles: [...(row.roles ?? [])].sort(),
    status: password_hash === null && status === 'active' ? 'invited' : status,
    must_change_password: password_hash !== null && row.must_change_password === true,
    last_login_ip: row.last_login_ip ?? null,
    password_hash,
  };
}

/** Converts a time to UTC, because PostgreSQL accepts no offset of 16 hours or more. */
function toUtc(text: string | null = null): string | null {
  return text === null ? null : new Date(text).toISOString();
}
