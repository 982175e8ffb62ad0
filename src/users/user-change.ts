import { joinSql, rawSql, sql, type SqlFragment } from '../common/query/sql';
import type { UserEntity } from './user.entity';

/** What can be changed on users, one or many. */
export type UserChange = Partial<
  Pick<
    UserEntity,
    | 'name'
    | 'phone'
    | 'locale'
    | 'timezone'
    | 'carrier_scope'
    | 'roles'
    | 'status'
    | 'allowed_ips'
    | 'attributes'
    | 'must_change_password'
  >
> & {
  /** becomes `email_pending`, or for an invited user `email` */
  email?: string;
  first_name?: string | null;
  last_name?: string | null;
  roles_add?: string[];
  roles_remove?: string[];
};

/** A column and its new value as SQL over the row before. */
export interface Assignment {
  column: keyof UserEntity;
  value: SqlFragment;
}

const casts: Partial<Record<keyof UserChange, string>> = {
  name: 'text',
  phone: 'text',
  locale: 'text',
  timezone: 'text',
  carrier_scope: 'text[]',
  status: 'text',
  must_change_password: 'boolean',
};

/** Fields that nobody changes on themselves, and that decide who is an administrator. */
const powerFields: (keyof UserChange)[] = ['status', 'roles', 'roles_add', 'roles_remove', 'carrier_scope'];

/** Whether a change touches what nobody may change on themselves. */
export function touchesPower(change: UserChange): boolean {
  return powerFields.some((field) => change[field] !== undefined);
}

/**
 * The change as assignments. The same for one user and for all that a filter finds, so that there
 * is one rule for both.
 */
export function assignmentsOf(change: UserChange): Assignment[] {
  const assignments: Assignment[] = [];
  for (const [field, cast] of Object.entries(casts) as [keyof UserChange & keyof UserEntity, string][]) {
    if (change[field] !== undefined) assignments.push({ column: field, value: sql`${change[field]}::${rawSql(cast)}` });
  }
  if (change.first_name !== undefined)
    assignments.push({ column: 'first_name', value: sql`${change.first_name ?? ''}::text` });
  if (change.last_name !== undefined)
    assignments.push({ column: 'last_name', value: sql`${change.last_name ?? ''}::text` });
  if (change.allowed_ips !== undefined)
    assignments.push({ column: 'allowed_ips', value: networksSql(change.allowed_ips) });
  if (change.attributes !== undefined)
    assignments.push({ column: 'attributes', value: attributesSql(change.attributes) });
  if (change.roles !== undefined || change.roles_add !== undefined || change.roles_remove !== undefined)
    assignments.push({ column: 'roles', value: rolesSql(change) });
  return change.email === undefined ? assignments : [...assignments, ...emailAssignments(change.email)];
}

/** The new values as columns `after_…` beside those of the row. */
export function afterColumns(assignments: Assignment[]): SqlFragment {
  return joinSql(
    assignments.map(({ column, value }) => sql`, ${value} as ${rawSql(`after_${column}`)}`),
    '',
    '',
  );
}

/** The value a column has after the change, where the row has its `after_…` columns. */
export function valueAfter(assignments: Assignment[], column: keyof UserEntity): SqlFragment {
  return rawSql(
    assignments.some((assignment) => assignment.column === column) ? `users.after_${column}` : `users.${column}`,
  );
}

/** Whether the change makes a difference to a row that has its `after_…` columns. */
export function differsSql(assignments: Assignment[]): SqlFragment {
  return sql`(${joinSql(
    assignments.map(({ column }) => rawSql(`users.${column} is distinct from users.after_${column}`)),
    ' or ',
    'false',
  )})`;
}

/** Addresses as networks: host bits cut off, no repeats. */
export function networksSql(addresses: string[]): SqlFragment {
  return sql`array(select distinct network(address::inet)::cidr from unnest(${addresses}::text[]) address order by 1)`;
}

/**
 * Objects within objects are merged by a function, which takes twenty times as long as the
 * operators that do for the rest (RFC 7396).
 */
function attributesSql(patch: Record<string, unknown>): SqlFragment {
  const entries = Object.entries(patch);
  const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
  if (entries.some(([, value]) => isObject(value)))
    return sql`jsonb_merge_patch(users.attributes, ${JSON.stringify(patch)}::jsonb)`;
  const set = Object.fromEntries(entries.filter(([, value]) => value !== null));
  const removed = entries.filter(([, value]) => value === null).map(([key]) => key);
  return sql`((users.attributes || ${JSON.stringify(set)}::jsonb) - ${removed}::text[])`;
}

function rolesSql({ roles, roles_add = [], roles_remove = [] }: UserChange): SqlFragment {
  const base = roles === undefined ? rawSql('users.roles') : sql`${roles}::text[]`;
  return sql`array(select distinct role from unnest(${base} || ${roles_add}::text[]) role where role <> all(${roles_remove}::text[]) order by role)`;
}

/**
 * A new address counts once its owner has confirmed it; an invited user has proven nothing yet, so
 * theirs changes at once.
 */
function emailAssignments(email: string): Assignment[] {
  return [
    { column: 'email', value: sql`(case when users.status = 'invited' then ${email}::text else users.email end)` },
    {
      column: 'email_pending',
      value: sql`(case when users.status = 'invited' or lower(users.email) = lower(${email}::text) then null else ${email}::text end)`,
    },
  ];
}
