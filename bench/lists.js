// Lists of `bench:users`: the query to the service, and handwritten SQL on the same tables.

/** Columns that the service returns for a user. */
const COLUMNS = `user_id, user_type, name, email, email_pending, email_verified_at, first_name, last_name, phone,
  locale, timezone, carrier_id, carrier_scope, roles, status, allowed_ips, attributes, must_change_password,
  coalesce(last_seen_at > now() - interval '5 minutes', false) as online, created_at, created_by, updated_at,
  last_login_at, host(last_login_ip) as last_login_ip, last_seen_at, password_changed_at, locked_until,
  deleted_at, version`;

/**
 * Returns the SQL of a list, by default with the newest users first. Values are part of the text,
 * so that the statement is prepared once.
 */
function listSql({ joins = '', where = 'true', order = 'users.created_at desc, users.user_id desc' } = {}) {
  return `
    select ${COLUMNS}
    from users ${joins}
    where users.deleted_at is null and ${where}
    order by ${order}
    limit 51`;
}

const found = (word) =>
  `user_id in (select user_id from user_search where names like '%' || search_text('${word}') || '%')`;
const named = (pattern) => `user_id in (select user_id from user_search where names like ${pattern})`;
/** A set of this size is estimated, not counted. */
const estimated = 'explain (format json) select 1 from users where deleted_at is null';
const exact = (where) => `select count(*) from users where deleted_at is null and ${where}`;

/**
 * Lists with 16 connections are compared by requests/s, lists with 1 connection by median latency.
 */
const LISTS = [
  { id: 'newest', name: 'list, newest', connections: 16, query: 'count=none', sql: listSql() },
  { id: 'newest-total', name: 'list, newest, with its total', connections: 16, query: '', sql: listSql() },
  {
    id: 'name',
    name: 'list, by name',
    connections: 16,
    query: 'count=none&order_by=name&order_dir=asc',
    sql: listSql({ order: 'lower(name), user_id' }),
  },
  {
    id: 'status',
    name: 'list, status',
    connections: 16,
    query: 'count=none&status=disabled',
    sql: listSql({ where: `status = 'disabled'` }),
  },
  {
    id: 'carrier',
    name: 'list, carrier_id',
    connections: 16,
    query: 'count=none&carrier_id=carrier-7',
    sql: listSql({ where: `carrier_id = 'carrier-7'` }),
  },
  {
    id: 'role',
    name: 'list, role',
    connections: 16,
    query: 'count=none&role=operator',
    sql: listSql({ where: `roles @> '{operator}'` }),
  },
  {
    id: 'q-rare',
    name: 'q, a rare word',
    connections: 1,
    query: 'count=none&q=knuth20100',
    sql: listSql({ where: found('knuth20100') }),
  },
  {
    id: 'q-common',
    name: 'q, a common word',
    connections: 1,
    query: 'count=none&q=knuth',
    sql: listSql({ where: found('knuth') }),
  },
  {
    id: 'q-missing',
    name: 'q, a missing word',
    connections: 1,
    query: 'count=none&q=zzqqxx',
    sql: listSql({ where: found('zzqqxx') }),
  },
  {
    id: 'like-email',
    name: 'email_like',
    connections: 1,
    query: 'count=none&email_like=knuth2010',
    sql: listSql({ where: named(`'%, %' || search_text('knuth2010') || '%;%'`) }),
  },
  {
    id: 'like-name',
    name: 'last_name_like',
    connections: 1,
    query: 'count=none&last_name_like=uther',
    sql: listSql({ where: named(`'%: %' || search_text('uther') || '%.'`) }),
  },
  { id: 'count-none', name: 'count=none', connections: 1, query: 'count=none', sql: listSql() },
  {
    id: 'count-estimated',
    name: 'count=estimated',
    connections: 1,
    query: 'count=estimated',
    sql: listSql(),
    total: estimated,
  },
  {
    id: 'count-exact',
    name: 'count=exact',
    connections: 1,
    query: 'count=exact',
    sql: listSql(),
    total: exact('true'),
  },
  {
    id: 'count-exact-status',
    name: 'count=exact, status',
    connections: 1,
    query: 'count=exact&status=active',
    sql: listSql({ where: `status = 'active'` }),
    total: exact(`status = 'active'`),
  },
];

module.exports = { COLUMNS, LISTS };
