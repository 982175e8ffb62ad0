// Measures export and import of all users, beside COPY and one INSERT … SELECT.
const { Readable } = require('node:stream');
const { settle } = require('./bulk');
const { target } = require('./report');
const { chosen, tell } = require('./stage');

const EXPORT_TARGET = target.atLeast(50_000, 'users/s');
const IMPORT_TARGET = target.atLeast(20_000, 'users/s');
const ROWS_AT_ONCE = 1_000;

const EXPORTED = `user_id, user_type, name, email, email_verified_at, first_name, last_name, phone, locale,
  timezone, carrier_id, carrier_scope, roles, status, allowed_ips, attributes, must_change_password,
  created_at, last_login_at, host(last_login_ip), last_seen_at, password_changed_at`;
const LIVING = 'from users where deleted_at is null order by user_id';
const FORMATS = [
  { format: 'csv', type: 'text/csv', copy: `copy (select ${EXPORTED} ${LIVING}) to stdout (format csv)` },
  {
    format: 'ndjson',
    type: 'application/x-ndjson',
    copy: `copy (select row_to_json(line) from (select ${EXPORTED} ${LIVING}) line) to stdout`,
  },
];

/** Without passwords, because `npm run bench` measures hashing. */
const IMPORT = `with added as (
    insert into users (
      user_id, user_type, name, email, first_name, last_name,
      phone, locale, timezone,
      carrier_id, roles, status, attributes, created_by
    )
    select
      uuid_v7(), 'carrier', 'bare.' || i, 'bare.' || i || '@example.org', 'Bare', 'Import ' || i,
      '+4313' || lpad(i::text, 8, '0'), 'en', 'Europe/London',
      'carrier-' || i % 200, '{carrier_user}', 'invited', jsonb_build_object('customer_number', i), $2::uuid
    from generate_series(1, $1::integer) i
    returning user_id, carrier_id, name, email
  )
  insert into events (
    event_type, actor_id, actor_type, target_type, target_id, carrier_id, request_id, changes, target_version
  )
  select 'user.created', $2::uuid, 'user', 'user', user_id, carrier_id, 'bare',
    jsonb_build_object('name', jsonb_build_object('after', name), 'email', jsonb_build_object('after', email)), 1
  from added`;

const FIELDS = [
  'user_type',
  'name',
  'email',
  'first_name',
  'last_name',
  'phone',
  'locale',
  'timezone',
  'carrier_id',
  'roles',
  'attributes',
];

/** @returns measures for the table; `caller` is a System User's `Operations` */
async function measureTransfer({ database: { client }, service }, caller, { rounds, users, only }) {
  const { paths } = await (await fetch(`${service.url}/docs/openapi.json`)).json();
  const measures = [];
  for (const { name, way, measure } of chosen(
    [
      { name: 'export', way: '/user/export', measure: measureExport },
      { name: 'import', way: '/user/import', measure: measureImport },
    ],
    only,
  )) {
    if (paths[way] === undefined) tell(`${name}: skipped, the service has no ${way}`);
    else for (const form of FORMATS) measures.push(await measure({ client, caller, rounds, users }, form));
  }
  return measures;
}

async function measureExport({ client, caller, rounds }, { format, copy }) {
  const [ours, bare] = [[], []];
  await settle(client);
  const { rows } = await client.query('select count(*)::integer as users from users where deleted_at is null');
  const rate = async (lines, header) => {
    const start = performance.now();
    const read = (await lines()) - header;
    if (read !== rows[0].users) throw new Error(`export: ${read} lines of ${rows[0].users}`);
    return read / ((performance.now() - start) / 1000);
  };
  for (let round = 1; round <= rounds; round++) {
    ours.push(await rate(() => readExport(caller, format), format === 'csv' ? 1 : 0));
    bare.push(await rate(() => readCopy(client, copy), 0));
  }
  return { name: `export, ${format}`, unit: 'users/s', ours, bare, demand: EXPORT_TARGET };
}

async function readExport({ service, headers }, format) {
  const response = await fetch(`${service}/user/export?format=${format}`, { headers });
  if (!response.ok) throw new Error(`export: ${response.status} ${await response.text()}`);
  let lines = 0;
  for await (const chunk of response.body) lines += linesOf(chunk);
  return lines;
}

/** Counts the rows of COPY … TO STDOUT, which the driver does not support by itself. */
function readCopy(client, copy) {
  return new Promise((resolve, reject) => {
    let lines = 0;
    const nothing = () => undefined;
    client.query({
      submit: (connection) => connection.query(copy),
      handleCopyData: ({ chunk }) => (lines += linesOf(chunk)),
      handleCommandComplete: nothing,
      handleReadyForQuery: () => resolve(lines),
      handleError: reject,
    });
  });
}

function linesOf(chunk) {
  let lines = 0;
  for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines++;
  return lines;
}

/** Measures one import. Imported rows remain; the bare rows are rolled back. */
async function measureImport({ client, caller, users }, { format, type }) {
  const { rows } = await client.query(`select user_id from users where roles @> '{administrator}' limit 1`);
  await settle(client);
  await client.query('begin');
  const start = performance.now();
  await client.query(IMPORT, [users, rows[0].user_id]);
  const bare = users / ((performance.now() - start) / 1000);
  await client.query('rollback');
  await settle(client);
  const body = Readable.from(format === 'csv' ? csv(users) : ndjson(users));
  const { operation, ms } = await caller.carryOut('POST', '/user/import', { body, type });
  if (operation.changed !== users) throw new Error(`import: ${JSON.stringify(operation)}`);
  tell(`import, ${format}: ${(ms / 1000).toFixed(1)} s`);
  return {
    name: `import, ${format}`,
    unit: 'users/s',
    ours: [users / (ms / 1000)],
    bare: [bare],
    demand: IMPORT_TARGET,
  };
}

function* rowsOf(format, users) {
  for (let i = 1; i <= users; i++) {
    const name = `${format}.${i}`;
    const carrier_id = `carrier-${i % 200}`;
    const person = {
      first_name: 'Test',
      last_name: `Import ${i}`,
      phone: `+4313${String(i).padStart(8, '0')}`,
      locale: 'en',
      timezone: 'Europe/London',
    };
    yield {
      user_type: 'carrier',
      name,
      email: `${name}@example.org`,
      ...person,
      carrier_id,
      roles: ['carrier_user'],
      attributes: { customer_number: i },
    };
  }
}

function* ndjson(users) {
  yield* inPieces(rowsOf('ndjson', users), (row) => `${JSON.stringify(row)}\n`);
}

function* csv(users) {
  yield `${FIELDS.join(',')}\r\n`;
  const cell = (value) =>
    typeof value === 'string' ? value.replace(/^[+]/, "'$&") : `"${JSON.stringify(value).replaceAll('"', '""')}"`;
  yield* inPieces(rowsOf('csv', users), (row) => `${FIELDS.map((field) => cell(row[field])).join(',')}\r\n`);
}

function* inPieces(rows, write) {
  let [piece, size] = ['', 0];
  for (const row of rows) {
    piece += write(row);
    if (++size % ROWS_AT_ONCE === 0) {
      yield piece;
      piece = '';
    }
  }
  if (piece !== '') yield piece;
}

module.exports = { measureTransfer };
