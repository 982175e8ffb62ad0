import type { Actor } from '../../access/actor';
import { mayReach } from '../../access/scope';
import type { FieldError } from '../../http/errors/app-error';
import { checkFields, fieldsOf } from '../../http/fields/field-rules';
import { newId } from '../../platform/random';
import { admitsSet, slowsRefusals } from '../../auth/passwords/hash-work';
import { type HashCost, importableHash } from '../../auth/passwords/stored-hash';
import type { Grants } from '../../access/roles/roles.service';
import { inconsistencyOf } from '../user-creation.service';
import { newUserValues, type NewUserValues } from '../user-fields';
import type { ImportLine } from './files/import-file';
import { ImportRow } from './users-transfer.dto';

const fields = fieldsOf(ImportRow);
const times = ['created_at', 'email_verified_at', 'last_login_at', 'last_seen_at', 'password_changed_at'] as const;
const clockSkewMs = 60_000;
const pointerMax = 256;
/** Maximum number of faults of a row. A row can have any number of unknown fields. */
const faultsMax = 20;

/** Options of an import. */
export interface ImportOptions {
  /** outcome of rows whose name, address or id is taken */
  on_conflict: 'fail' | 'skip';
  /** invite each user without a password by mail */
  invite: boolean;
}

/** The user of a row. Null stands for no value. */
export type ImportedUser = NewUserValues &
  Record<(typeof times)[number], string | null> & {
    line: number;
    user_id: string;
    last_login_ip: string | null;
    password_hash: string | null;
  };

/** Everything that decides whether a row becomes a user. */
interface ImportContext {
  actor: Actor;
  grants: Grants;
  /** costs that rejected logins are padded to; rows add to them */
  costs: HashCost[];
}

/**
 * Returns the faults of a row that can be found without the database and the caller: those from
 * reading the file, and those in the fields, the times and the form of the hash. Returns at most
 * one fault per field, and at most 20. Changes the values to their canonical form.
 */
export function faultsOf({ values, faults = [] }: ImportLine, now: Date): FieldError[] {
  const found = [...faults];
  const add = (fault: FieldError | null) => {
    if (fault === null || found.length === faultsMax) return;
    if (!found.some(({ pointer }) => pointer === fault.pointer)) found.push(fault);
  };
  if (values !== undefined) {
    checkFields(fields, values).forEach(add);
    const row = values as unknown as ImportRow;
    times.forEach((name) => add(futureFault(name, row[name], now)));
    add(inconsistencyOf(row));
    add(hashFault(row));
  }
  return found.map(shortFault);
}

/**
 * Returns the user of a row that `faultsOf` has checked, or the faults of the row.
 * Both functions together apply the rules of `POST /user/create`, so that a caller cannot import a
 * user whom they could not create, and the rules of the fields that only files have.
 */
export function readRow({ line, values, faults }: ImportLine, context: ImportContext): ImportedUser | FieldError[] {
  const { actor, grants, costs } = context;
  if (faults !== undefined && faults.length > 0) return faults;
  if (values === undefined) return [unreadable];
  const row = values as unknown as ImportRow;
  const denied = permissionFaults(actor, grants, row);
  if (denied.length > 0) return denied;
  const costly = costFault(costs, row);
  return costly === null ? toUser(line, row) : [costly];
}

const unreadable: FieldError = { pointer: '', code: 'field.malformed', detail: 'cannot be read' };

/**
 * Returns a fault for storage. Drops a long pointer: an unknown field name may fill a whole row.
 */
function shortFault({ pointer = '', code, detail, params }: FieldError): FieldError {
  return { pointer: pointer.length > pointerMax ? '' : pointer, code, detail, params };
}

/** Returns whether a hash is an unsalted MD5 hash, which is stored only wrapped in Argon2id. */
export function isMd5(hash: unknown): hash is string {
  if (typeof hash !== 'string' || hash.length !== 32) return false;
  const read = importableHash(hash);
  return typeof read !== 'string' && read.form === 'md5';
}

function permissionFaults(actor: Actor, grants: Grants, row: ImportRow): FieldError[] {
  const { user_type, carrier_id = null, password_hash = null } = row;
  const faults: FieldError[] = [];
  // Only an actor without `carrier_scope` reaches System Users. This actor may grant any scope.
  if (!mayReach(actor, { user_type, carrier_id }))
    faults.push({ pointer: '/carrier_id', code: 'access.denied', detail: 'is outside your scope' });
  const roles = roleFault(grants, row);
  if (roles !== null) faults.push(roles);
  // The cost of each rejected login grows with these hashes, for users of other carriers too (L21).
  if (password_hash !== null && isLimited(actor) && slowsRefusals(password_hash))
    faults.push({
      pointer: '/password_hash',
      code: 'access.denied',
      detail: 'must be an MD5 hash; only System Users without carrier_scope can import hashes of other systems',
    });
  return faults;
}

function roleFault(grants: Grants, { user_type, roles = [] }: ImportRow): FieldError | null {
  const open = user_type === 'system' ? grants.open_to_system : grants.open_to_carrier;
  if (!roles.every((role) => open.includes(role)))
    return {
      pointer: '/roles',
      code: 'field.not_allowed',
      detail: 'contains a role that does not exist or is not available to this type of user',
    };
  if (roles.some((role) => grants.forbidden.includes(role)))
    return { pointer: '/roles', code: 'access.grant_exceeds_own', detail: 'contains a role that you may not grant' };
  return null;
}

function costFault(costs: HashCost[], { password_hash = null }: ImportRow): FieldError | null {
  if (password_hash === null || admitsSet(password_hash, costs)) return null;
  return {
    pointer: '/password_hash',
    code: 'password_hash.too_costly',
    detail: 'has other parameters than the stored hashes, and all of them together would cost too much',
  };
}

function isLimited({ user_type, carrier_scope }: Actor): boolean {
  return user_type === 'carrier' || carrier_scope !== null;
}

function futureFault(name: string, time: unknown, now: Date): FieldError | null {
  if (typeof time !== 'string' || !(Date.parse(time) > now.getTime() + clockSkewMs)) return null;
  return { pointer: `/${name}`, code: 'field.not_allowed', detail: 'must not be in the future' };
}

function hashFault({ password_hash, status }: ImportRow): FieldError | null {
  // A value of another type is a fault of its field.
  if (typeof password_hash !== 'string') return null;
  const read = importableHash(password_hash);
  if (read === 'too costly')
    return { pointer: '/password_hash', code: 'password_hash.too_costly', detail: 'exceeds the highest cost' };
  if (typeof read === 'string')
    return {
      pointer: '/password_hash',
      code: 'field.not_allowed',
      detail: `is not accepted: ${read}`,
      params: { reason: read },
    };
  return status === 'invited'
    ? { pointer: '/status', code: 'field.not_allowed', detail: 'must not be `invited` for a user with a password' }
    : null;
}

/** Returns the user of a valid row. A user without a password is invited instead of active. */
function toUser(line: number, row: ImportRow): ImportedUser {
  const { status = 'active', password_hash = null } = row;
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
