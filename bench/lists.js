// Lists of `bench:users`: the query to the service, and handwritten SQL on the same tables.

/** Columns that the service returns for a user. */
const COLUMNS = `user_id, user_type, name, email, email_pending, email_verified_at, first_name, last_name, phone,
  locale, timezone, carrier_id, carrier_scope, roles, status, allowed_ips, attributes, must_change_password,
  coalesce(last_seen_at > now() - interval '5 minutes', false) as online, created_at, created_by, updated_at,
  last_login_at, host(last_login_ip) as last_login_ip, last_seen_at, password_changed_at, locked_until,
  deleted_at, version`;

/** Returns the SQL of a list. Its values are part of the text, so it is prepared once. */
function listSql(where = 'true', order = 'users.created_at desc, users.user_id desc') {
  return `
    select ${COLUMNS}
    from users
    where users.deleted_at is null and ${where}
    order by ${order}
    limit 51`;
}

const found = (word) =>
  `user_id in (select user_id from user_search where names like '%' || search_text('${word}') || '%')`;
/** A set of this size is estimated, not counted. */
const ESTIMATED = 'explain (format json) select 1 from users where deleted_at is null';
const exact = (where) => `select count(*) from users where deleted_at is null and ${where}`;

/** Compared by requests/s, with 16 connections: name, query, and condition and order in SQL. */
const BY_RATE = [
  ['list, newest', 'count=none'],
  ['list, newest, with its total', ''],
  ['list, by name', 'count=none&order_by=name&order_dir=asc', 'true', 'lower(name), user_id'],
  ['list, status', 'count=none&status=disabled', `status = 'disabled'`],
  ['list, carrier_id', 'count=none&carrier_id=carrier-7', `carrier_id = 'carrier-7'`],
  ['list, role', 'count=none&role=operator', `roles @> '{operator}'`],
];
/** Compared by median latency, with one connection: name, query, condition and total in SQL. */
const BY_LATENCY = [
  ['q, a rare word', 'count=none&q=knuth20100', found('knuth20100')],
  ['q, a common word', 'count=none&q=knuth', found('knuth')],
  ['q, a missing word', 'count=none&q=zzqqxx', found('zzqqxx')],
  ['email_like', 'count=none&email_like=knuth2010', `${found('knuth2010')} and email ilike '%knuth2010%'`],
  ['last_name_like', 'count=none&last_name_like=uther', `${found('uther')} and last_name ilike '%uther%'`],
  ['count=estimated', 'count=estimated', 'true', ESTIMATED],
  ['count=exact', 'count=exact', 'true', exact('true')],
  ['count=exact, status', 'count=exact&status=active', `status = 'active'`, exact(`status = 'active'`)],
];
/** `path` is the path of the baseline. */
const LISTS = [
  ...BY_RATE.map(([name, query, where, order]) => ({ name, query, sql: listSql(where, order), connections: 16 })),
  ...BY_LATENCY.map(([name, query, where, total]) => ({ name, query, sql: listSql(where), total, connections: 1 })),
].map((list, index) => ({ ...list, path: `/list/${index}` }));

module.exports = { COLUMNS, LISTS };
