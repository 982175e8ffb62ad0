// Imports of `bench:users`, beside one INSERT … SELECT.
const { Readable } = require('node:stream');
const { choose, settle } = require('./fill');
const { figure, target } = require('./report');
const { chosen } = require('./stage');

const IMPORT_TARGET = target.ratioAtLeast(0.7);
const ROWS_AT_ONCE = 1_000;

const CSV_HEADER = 'user_type,name,email,first_name,last_name,phone,locale,timezone,carrier_id,roles,attributes\r\n';
const IMPORTS = [
  { name: 'import, csv', type: 'text/csv', header: CSV_HEADER, line: toCsv },
  { name: 'import, ndjson', type: 'application/x-ndjson', header: '', line: (user) => `${JSON.stringify(user)}\n` },
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

/** @returns measures for the table; `caller` is a System User's `Operations` */
async function measureImports({ database: { client } }, caller, { users, only }) {
  const measures = [];
  for (const form of chosen(IMPORTS, only)) measures.push(await measureImport(client, caller, users, form));
  return measures;
}

/** Measures one import. Imported rows remain; the bare rows are rolled back. */
async function measureImport(client, caller, users, { name, type, header, line }) {
  const [{ user_id }] = await choose(client, `roles @> '{administrator}'`, 1);
  await settle(client);
  await client.query('begin');
  const start = performance.now();
  await client.query(IMPORT, [users, user_id]);
  const bare = users / ((performance.now() - start) / 1000);
  await client.query('rollback');
  await settle(client);
  const body = Readable.from(fileOf(users, type.replace(/\W/g, '-'), header, line));
  const { operation, ms } = await caller.carryOut('POST', '/user/import', { body, type });
  if (operation.changed !== users) throw new Error(`import: ${JSON.stringify(operation)}`);
  return figure(name, 'users/s', [users / (ms / 1000)], IMPORT_TARGET, [bare]);
}

function* fileOf(users, prefix, header, line) {
  let piece = header;
  for (let i = 1; i <= users; i++) {
    const name = `${prefix}.${i}`;
    piece += line({
      user_type: 'carrier',
      name,
      email: `${name}@example.org`,
      first_name: 'Test',
      last_name: `Import ${i}`,
      phone: `+4313${String(i).padStart(8, '0')}`,
      locale: 'en',
      timezone: 'Europe/London',
      carrier_id: `carrier-${i % 200}`,
      roles: ['carrier_user'],
      attributes: { customer_number: i },
    });
    if (i % ROWS_AT_ONCE > 0 && i < users) continue;
    yield piece;
    piece = '';
  }
}

function toCsv(user) {
  const json = (value) => `"${JSON.stringify(value).replaceAll('"', '""')}"`;
  const cell = (value) => (typeof value === 'string' ? value.replace(/^\+/, "'+") : json(value));
  return `${Object.values(user).map(cell).join(',')}\r\n`;
}

module.exports = { measureImports };
