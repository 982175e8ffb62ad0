import type { Actor } from '../access/actor';
import { mayGiveScope, mayReach } from '../access/scope';
import type { FieldError } from '../common/errors/app-error';
import { checkFields, fieldsOf } from '../common/http/field-rules';
import { newId } from '../common/random';
import { importableHash, type RefusalBudget, slowsRefusals } from '../credentials/credentials.service';
import type { Grants } from '../roles/roles.service';
import { CreateUserRequest, type UserResponse } from '../users/users.dto';
import { inconsistencyOf } from '../users/user-creation.service';
import { ImportedFields } from './users-transfer.dto';

/** Every field of a row: those of a new user but the password, and where they come from. */
const fields = new Map(
  [...fieldsOf(CreateUserRequest), ...fieldsOf(ImportedFields)].filter(([name]) => name !== 'password'),
);
const times = ['created_at', 'email_verified_at', 'last_login_at', 'last_seen_at', 'password_changed_at'] as const;

const pointerMax = 256;
/** The work of every refused login grows with them, also that of other carriers (L21). */
const limitedHashes =
  'is a hash of another system, which only System Users without carrier_scope can import; an MD5 is possible';

type Row = Omit<CreateUserRequest, 'password'> & ImportedFields;

/** A row as it becomes a user: nothing is missing, null is no value. */
export type ImportedUser = { line: number } & { [Field in keyof Required<Row>]: NonNullable<Row[Field]> | null } & {
  user_id: string;
  status: UserResponse['status'];
  name: string;
  email: string;
};

/** What decides over a row. */
export interface Judge {
  actor: Actor;
  grants: Grants;
  /** rows may not come from the future */
  now: Date;
  /** what takes the place of an MD5, by the line */
  wrapped: Map<number, string>;
  /** what further hashes of other systems may cost */
  budget: RefusalBudget;
}

/**
 * Returns the first fault of a row that needs neither the database nor the caller to find: in its
 * fields, its times or the form of its hash. Changes the values to their canonical form.
 */
export function rowFault(values: Record<string, unknown>, now: Date): FieldError | null {
  const [wrong] = checkFields(fields, values);
  if (wrong !== undefined) return wrong;
  const row = values as unknown as Row;
  const future = times.find((name) => Date.parse(row[name] ?? '') > now.getTime() + 60_000);
  if (future !== undefined)
    return { pointer: `/${future}`, code: 'field.not_allowed', detail: 'must not be in the future' };
  return inconsistencyOf(row) ?? hashFault(row);
}

/**
 * Returns the user of a row, or the fault of the row.
 * Applies the rules of `POST /user/create`, so that a caller cannot import a user whom they could
 * not create, and the rules of the fields that only files have. Changes the row.
 */
export function judge(line: number, values: Record<string, unknown>, by: Judge): ImportedUser | FieldError {
  const { actor, grants, now, wrapped, budget } = by;
  const fault = rowFault(values, now);
  if (fault !== null) return fault;
  const row = values as unknown as Row;
  return (
    powerFault(actor, grants, row) ??
    costFault(budget, row) ??
    complete(line, row, wrapped.get(line) ?? row.password_hash ?? null)
  );
}

/**
 * Returns a fault for storage. Drops a long pointer: an unknown field name may fill a whole row.
 */
export function shortFault({ pointer = '', code, detail }: FieldError): FieldError {
  return { pointer: pointer.length > pointerMax ? '' : pointer, code, detail };
}

/** Whether a hash is the MD5 of a password, which is kept inside Argon2id only. */
export function isMd5(hash: unknown): hash is string {
  if (typeof hash !== 'string' || hash.length !== 32) return false;
  const read = importableHash(hash);
  return typeof read !== 'string' && read.form === 'md5';
}

function powerFault(actor: Actor, grants: Grants, row: Row): FieldError | null {
  const { user_type, carrier_id = null, carrier_scope = null, roles = [], password_hash = null } = row;
  if (!mayReach(actor, { user_type, carrier_id }))
    return { pointer: '/carrier_id', code: 'access.denied', detail: 'the user would be outside the scope' };
  if (user_type === 'system' && !mayGiveScope(actor, carrier_scope))
    return { pointer: '/carrier_scope', code: 'access.grant_exceeds_own', detail: 'is more than one has oneself' };
  const open = user_type === 'system' ? grants.open_to_system : grants.open_to_carrier;
  if (!roles.every((role) => open.includes(role)))
    return {
      pointer: '/roles',
      code: 'field.not_allowed',
      detail: 'names a role that does not exist or is not open to this kind of user',
    };
  if (roles.some((role) => grants.forbidden.includes(role)))
    return {
      pointer: '/roles',
      code: 'access.grant_exceeds_own',
      detail: 'names a role that is not the caller’s to give',
    };
  if (password_hash !== null && isLimited(actor) && slowsRefusals(password_hash))
    return { pointer: '/password_hash', code: 'access.denied', detail: limitedHashes };
  return null;
}

function costFault(budget: RefusalBudget, { password_hash = null }: Row): FieldError | null {
  if (password_hash === null || budget.admits(password_hash)) return null;
  return {
    pointer: '/password_hash',
    code: 'field.not_allowed',
    detail: 'is too costly beside the hashes that are stored already',
  };
}

function isLimited({ user_type, carrier_scope }: Actor): boolean {
  return user_type === 'carrier' || carrier_scope !== null;
}

function hashFault({ password_hash = null, status }: Row): FieldError | null {
  if (password_hash === null) return null;
  const read = importableHash(password_hash);
  if (typeof read === 'string')
    return { pointer: '/password_hash', code: 'field.not_allowed', detail: `is a hash that is not taken: ${read}` };
  return status === 'invited'
    ? { pointer: '/status', code: 'field.not_allowed', detail: 'is of somebody without a password' }
    : null;
}

/** Who has no password is invited, or stays shut out. */
function complete(line: number, row: Row, password_hash: string | null): ImportedUser {
  const given = row.status ?? 'active';
  return {
    line,
    user_id: row.user_id?.toLowerCase() ?? newId(),
    user_type: row.user_type,
    name: row.name,
    email: row.email,
    first_name: row.first_name ?? '',
    last_name: row.last_name ?? '',
    phone: row.phone ?? null,
    locale: row.locale ?? null,
    timezone: row.timezone ?? null,
    carrier_id: row.carrier_id ?? null,
    carrier_scope: row.carrier_scope ?? null,
    roles: [...(row.roles ?? [])].sort(),
    allowed_ips: row.allowed_ips ?? [],
    attributes: row.attributes ?? {},
    status: password_hash === null && given === 'active' ? 'invited' : given,
    must_change_password: password_hash !== null && row.must_change_password === true,
    password_hash,
    created_at: instant(row.created_at),
    email_verified_at: instant(row.email_verified_at),
    last_login_at: instant(row.last_login_at),
    last_login_ip: row.last_login_ip ?? null,
    last_seen_at: instant(row.last_seen_at),
    password_changed_at: instant(row.password_changed_at),
  };
}

/** In UTC: PostgreSQL takes no offset of 16 hours and more. */
function instant(text: string | null = null): string | null {
  return text === null ? null : new Date(text).toISOString();
}
