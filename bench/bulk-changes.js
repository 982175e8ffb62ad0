// The bulk changes of `bench:users`: the request to the service, and the same change as bare SQL in
// one transaction, including events and ended sessions.
const { randomUUID } = require('node:crypto');

/** About a tenth of all users. */
const TENTH = { query: 'carrier_id_in=carrier-0,carrier-1', where: `carrier_id in ('carrier-0', 'carrier-1')` };
const EVERYONE = { query: 'everyone=true', where: 'true' };
const LIVE_SESSIONS = 50_000;

/** `column` and `value` are the request in SQL. A trigger copies locales to the search table. */
const CHANGES = [
  {
    name: 'bulk attributes',
    found: TENTH,
    body: { attributes: { wave: 1 } },
    column: 'attributes',
    value: `attributes || '{"wave": 1}'`,
  },
  { name: 'bulk locale', found: TENTH, body: { locale: 'de-CH' }, column: 'locale', value: `'de-CH'` },
  {
    name: 'bulk status',
    found: TENTH,
    body: { status: 'disabled' },
    column: 'status',
    value: `'disabled'`,
    ends: 'user_disabled',
  },
  {
    name: 'bulk delete',
    found: TENTH,
    body: null,
    column: 'deleted_at',
    value: 'now()::timestamptz(3)',
    ends: 'user_deleted',
  },
  {
    name: 'bulk everyone',
    found: EVERYONE,
    body: { attributes: { wave: 1 } },
    column: 'attributes',
    value: `attributes || '{"wave": 1}'`,
  },
];

const BEFORE = {
  attributes: `before.changes -> 'attributes' -> 'before'`,
  locale: `before.changes -> 'locale' ->> 'before'`,
  status: `before.changes -> 'status' ->> 'before'`,
  deleted_at: `(before.changes -> 'deleted_at' ->> 'before')::timestamptz(3)`,
};

/** Returns the SQL that records one event per row of `changed`. */
function recordSql(column, event_type) {
  return `insert into events (
      event_type, actor_id, actor_type, target_type, target_id, carrier_id, operation_id, request_id,
      changes, target_version
    )
    select '${event_type}', $2, 'user', 'user', user_id, carrier_id, $1, 'bare',
      jsonb_build_object('${column}', jsonb_build_object('before', before, 'after', after)), version
    from changed`;
}

function changeSql({ found, column, value }) {
  return `with changed as (
      update users set ${column} = ${value}, updated_at = now(), version = version + 1
      where deleted_at is null and ${found.where} and ${column} is distinct from ${value}
      returning user_id, carrier_id, version, old.${column} as before, new.${column} as after
    ) ${recordSql(column, column === 'deleted_at' ? 'user.deleted' : 'user.changed')}`;
}

function undoSql({ column }) {
  return `with changed as (
      update users set ${column} = ${BEFORE[column]}, updated_at = now(), version = users.version + 1
      from events before
      where before.operation_id = $3
        and before.target_id = users.user_id
        and before.target_version = users.version
      returning users.user_id, users.carrier_id, users.version, old.${column} as before, new.${column} as after
    ) ${recordSql(column, column === 'deleted_at' ? 'user.restored' : 'user.changed')}`;
}

const END_SESSIONS = `with ended as (
    update sessions set ended_at = now(), ended_reason = $3, ended_by = $2
    where ended_at is null and user_id in (select target_id from events where operation_id = $1)
    returning session_id, carrier_id
  ) insert into events (
      event_type, actor_id, actor_type, target_type, target_id, carrier_id, operation_id, request_id, changes
    )
    select 'session.ended', $2, 'user', 'session', session_id, carrier_id, $1, 'bare',
      jsonb_build_object('ended_reason', jsonb_build_object('after', $3::text))
    from ended`;

/** Runs a change as bare SQL. Returns the operation id of its events, for the undo. */
async function changeBare(client, change, actor_id) {
  const operation_id = randomUUID();
  await client.query('begin');
  await client.query(changeSql(change), [operation_id, actor_id]);
  if (change.ends !== undefined) await client.query(END_SESSIONS, [operation_id, actor_id, change.ends]);
  await client.query('commit');
  return operation_id;
}

/** Undoes a bare change. */
async function undoBare(client, change, actor_id, operation_id) {
  await client.query(undoSql(change), [randomUUID(), actor_id, operation_id]);
}

module.exports = { changeBare, CHANGES, LIVE_SESSIONS, TENTH, undoBare };
