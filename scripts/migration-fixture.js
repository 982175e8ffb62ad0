// `node scripts/migration-fixture.js COMMIT…` writes a dump of a database of each commit to
// test/migrations/fixtures: the schema of its migrations, with sample rows.
// TEST_DATABASE_URL must be a server of PostgreSQL 15, the oldest version that must
// read the dumps.
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const Module = require('node:module');
const os = require('node:os');
const path = require('node:path');
const { gzipSync } = require('node:zlib');
const { transformSync } = require('@swc/core');
const { Client } = require('pg');
const { DataSource } = require('typeorm');

const root = path.join(__dirname, '..');
const fixtures = path.join(root, 'test', 'migrations', 'fixtures');
const server = process.env.TEST_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';
const swc = {
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
    target: 'es2022',
    keepClassNames: true,
  },
  module: { type: 'commonjs' },
};

/** Sample rows by table, inserted in this order if the commit has the table. */
const rows = {
  users: `insert into users (user_id, user_type, carrier_id, name, email, first_name, last_name, phone, status, roles)
    values
      ('018f0000-0000-7000-8000-000000000001', 'system', null, 'root', 'admin@example.com', 'Grace', 'Hopper', null,
        'active', '{administrator}'),
      ('018f0000-0000-7000-8000-000000000002', 'carrier', 'c1', 'ada', 'ada@example.com', 'Ada', 'Lovelace', '+49 30 1',
        'active', '{carrier_user}')`,
  credentials: `insert into credentials (user_id, password_hash)
    select user_id, '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaA' from users`,
  one_time_tokens: `insert into one_time_tokens (user_id, purpose, requested_at) select user_id, 'reset', now()
    from users`,
  second_factors: `insert into second_factors (factor_id, user_id, kind, name, secret, confirmed_at)
    select user_id, user_id, 'totp', 'phone', 'x', now() from users where name = 'ada'`,
  login_attempts: `insert into login_attempts (account, address, used_on) values ('unknown', '', current_date)`,
  sessions: `insert into sessions
      (session_id, user_id, user_type, refresh_token_hash, refreshed_at, expires_at, absolute_expires_at)
    select user_id, user_id, user_type, 'x', now(), now() + interval '1 day', now() + interval '9 days' from users
    where name = 'root'`,
  events: `insert into events (event_type, actor_type, target_type, target_id)
    select 'user.created', 'system', 'user', user_id from users
    union all
    select 'user.purged', 'system', 'user', '018f0000-0000-7000-8000-000000000009'`,
  signing_keys: `insert into signing_keys (kid, public_jwk, private_key) values ('k', '{}', 'x')`,
  operations: `insert into operations (operation_id, kind, permission, status, actor_id, session_id, request)
    select user_id, 'change', 'user:update', 'done', user_id, user_id, '{}' from users`,
  operation_skipped: `insert into operation_skipped (operation_id, line, errors)
    select operation_id, 2, '[{"code": "field.required", "pointer": "/email"}]' from operations`,
  idempotency_keys: `insert into idempotency_keys
      (user_id, method, path, key_hash, claim_id, claimed_until, actor_type)
    select user_id, 'POST', '/user/create', 'x', user_id, now(), 'user' from users`,
  keys: `insert into keys (key_id, name, token_hash, permissions, user_type, created_by, expires_at)
    select user_id, 'billing', 'x', '{user:read}', 'system', user_id, now() + interval '1 year'
    from users where name = 'root'`,
  user_tombstones: `insert into user_tombstones (user_id) values ('018f0000-0000-7000-8000-000000000009')`,
};

async function main(commits) {
  fs.mkdirSync(fixtures, { recursive: true });
  for (const name of commits) {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'migration-fixture-'));
    try {
      checkOut(name, directory);
      const dump = await dumpOf(directory);
      fs.writeFileSync(path.join(fixtures, `${name}.sql.gz`), gzipSync(dump, { level: 9 }));
    } finally {
      fs.rmSync(directory, { recursive: true });
    }
  }
}

function checkOut(commit, directory) {
  const archive = execFileSync('git', ['archive', commit, 'src', 'migrations'], { cwd: root, maxBuffer: 1e9 });
  execFileSync('tar', ['-x', '-C', directory], { input: archive });
  fs.symlinkSync(path.join(root, 'node_modules'), path.join(directory, 'node_modules'));
}

async function dumpOf(directory) {
  const name = `fixture_${process.pid}`;
  const url = Object.assign(new URL(server), { pathname: `/${name}` }).href;
  await run(server, [`drop database if exists ${name}`, `create database ${name}`]);
  const data = new DataSource({
    type: 'postgres',
    url,
    entities: [path.join(directory, 'src', '**', '*.entity.ts')],
    migrations: [path.join(directory, 'migrations', '*.ts')],
    migrationsTransactionMode: 'each',
  });
  await data.initialize();
  await data.runMigrations();
  for (const [table, statement] of Object.entries(rows)) {
    const [{ exists }] = await data.query('select to_regclass($1) is not null as exists', [table]);
    if (exists) await data.query(statement);
  }
  await data.destroy();
  const options = ['--no-owner', '--no-privileges', '--no-comments', '--inserts', `--dbname=${url}`];
  const dump = execFileSync('pg_dump', options, { encoding: 'utf8' });
  await run(server, [`drop database ${name}`]);
  // Some versions of pg_dump write commands that only psql reads.
  return dump.replace(/^\\.*\n/gm, '');
}

async function run(url, statements) {
  const client = new Client({ connectionString: url });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

Module._extensions['.ts'] = (module, filename) => {
  const { code } = transformSync(fs.readFileSync(filename, 'utf8'), { ...swc, filename });
  module._compile(code, filename);
};

main(process.argv.slice(2));
