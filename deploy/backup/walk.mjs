// `npm run drill:restore`: walks docs/backup.md with pgBackRest and real servers.
//   --users 1000 (with a session each)
// Restores PostgreSQL 15 to a point, and its dump to PostgreSQL 18. Runs as root on Debian, with
// the packages postgresql-15 and pgbackrest, and removes everything that it made.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import pg from 'pg';

const require = createRequire(import.meta.url);
const { fillUsers } = require('../../bench/fill.js');
const { startEmbeddedPostgres } = require('../../dist/src/platform/embedded-postgres/embedded-postgres.js');

const users = Number(parseArgs({ options: { users: { type: 'string', default: '1000' } } }).values.users);
const execute = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const bin = '/usr/lib/postgresql/15/bin';
const home = mkdtempSync(join(tmpdir(), 'identity-restore-'));
const data = join(home, 'data');
const port = 45_000 + (process.pid % 450) * 2;
const url = `postgres://identity@127.0.0.1:${port}/identity`;
const password = 'correct horse battery staple';
const secrets = { APP_SECRET: 'only-for-this-drill-0123456789abcdef', ADMIN_EMAIL: 'admin@example.com' };
const figures = [];
let service = null;

async function asPostgres(program, ...args) {
  const { stdout } = await execute('runuser', ['-u', 'postgres', '--', program, ...args], { cwd: home });
  return stdout;
}
const pgbackrest = (...args) =>
  asPostgres('pgbackrest', `--config=${home}/pgbackrest.conf`, '--stanza=identity', ...args);
const psql = (sql) => asPostgres(`${bin}/psql`, '-XAtq', '-h', '127.0.0.1', '-p', String(port), '-c', sql, 'identity');
const startServer = () =>
  asPostgres(`${bin}/pg_ctl`, '-D', data, '-l', join(home, 'server.log'), '-w', '-t', '3600', 'start');
const stopServer = (mode) => asPostgres(`${bin}/pg_ctl`, '-D', data, '-w', '-m', mode, 'stop');

async function timed(name, work) {
  const began = Date.now();
  const result = await work();
  figures.push([name, `${((Date.now() - began) / 1_000).toFixed(1)} s`]);
  console.log(`${name}: ${figures.at(-1)[1]}`);
  return result;
}

function runCli(DATABASE_URL, ...args) {
  const env = { PATH: process.env.PATH, DATABASE_URL, ...secrets };
  return execute(process.execPath, [join(root, 'dist/src/cli/cli.js'), ...args], { cwd: home, env });
}

/** Starts the service. Returns null and its output if it does not start. */
async function startService(DATABASE_URL) {
  const env = { PATH: process.env.PATH, DATABASE_URL, ...secrets, ADMIN_PASSWORD: password };
  Object.assign(env, { PORT: String(port + 1), PUBLIC_URL: `http://127.0.0.1:${port + 1}` });
  Object.assign(env, { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', REQUESTS_PER_ADDRESS_PER_MINUTE: '0' });
  const child = spawn(process.execPath, [join(root, 'dist/src/main.js')], { cwd: home, env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  while (child.exitCode === null && !output.includes(' listens on ')) await delay(50);
  service = child.exitCode === null ? child : null;
  return { output };
}

async function stopService() {
  if (service === null) return;
  const ended = once(service, 'exit');
  service.kill('SIGTERM');
  await ended;
  service = null;
}

async function request(method, path, { token, body } = {}) {
  const response = await fetch(`http://127.0.0.1:${port + 1}${path}`, {
    method,
    headers: {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(body && { 'content-type': 'application/json' }),
    },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text };
}

async function login(name, secret = password) {
  const { status, body } = await request('POST', '/auth/login', { body: { login: name, password: secret } });
  assert.equal(status, 200, JSON.stringify(body));
  return { token: body.access_token, refresh_token: body.refresh_token };
}

async function create(name, { token }) {
  const fields = { user_type: 'carrier', carrier_id: 'drill', password, must_change_password: false };
  const body = { name, email: `${name}@example.org`, ...fields };
  const created = await request('POST', '/user/create', { token, body });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  return created.body.user_id;
}

const linkToken = async (DATABASE_URL) => (await runCli(DATABASE_URL, 'admin-recover')).stdout.match(/reset\/(\S+)/)[1];
const cursorOf = async ({ token }) => (await request('GET', '/user/list?per_page=1', { token })).body.changes_cursor;
const received = [];
const receiver = createServer((incoming, response) => {
  let text = '';
  incoming.on('data', (chunk) => (text += chunk));
  incoming.on('end', () => {
    received.push(JSON.parse(text).data.target_id);
    response.writeHead(204).end();
  });
});

/** Makes everything that must not come back. */
async function live(DATABASE_URL, round) {
  const admin = await login('administrator');
  const user_id = await create(`ended-${round}`, admin);
  const ended = await login(`ended-${round}`);
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  const key = { name: 'module', permissions: ['user:read'], expires_at };
  const { key: secret, key_id } = (await request('POST', '/auth/key/create', { token: admin.token, body: key })).body;
  const hook = { url: `http://127.0.0.1:${receiver.address().port}/`, type_in: ['user.created'] };
  if (round === 1) await request('POST', '/webhook/create', { token: admin.token, body: hook });
  return { round, admin, user_id, ended, key: { secret, key_id }, link: await linkToken(DATABASE_URL) };
}

/** What happens after the point: all of it is lost by the restore. */
async function end({ admin, user_id, ended, key, link, round }) {
  const cursor = await cursorOf(admin);
  await request('POST', '/auth/logout', { token: ended.token });
  assert.equal((await request('DELETE', `/auth/key/${key.key_id}`, admin)).status, 204);
  const disabled = await request('PATCH', `/user/${user_id}`, { token: admin.token, body: { status: 'disabled' } });
  assert.equal(disabled.status, 200);
  await create(`lost-${round}`, admin);
  const lost = await cursorOf(admin);
  assert.equal((await request('POST', `/auth/reset/${link}`, { body: { password: `${password} 2` } })).status, 204);
  return [cursor, lost];
}

/** Walks from a restored database to a running service, and checks that nothing came back. */
async function recover(DATABASE_URL, { round, admin, ended, key, link }, cursors) {
  const { output } = await startService(DATABASE_URL);
  assert.equal(service, null, 'the service started on a restored database');
  assert.match(output, /after-restore/);
  const { stdout } = await timed(`after-restore (${round})`, () => runCli(DATABASE_URL, 'after-restore'));
  console.log(stdout);
  await startService(DATABASE_URL);
  for (const { token, refresh_token } of [ended, admin]) {
    assert.equal((await request('GET', '/user', { token })).status, 401, 'access token');
    assert.equal(
      (await request('POST', '/auth/check-token', { body: { refresh_token } })).status,
      401,
      'refresh token',
    );
  }
  assert.equal((await request('GET', '/user/list', { token: key.secret })).status, 401, 'API key');
  assert.equal((await request('GET', `/auth/reset/${link}`)).status, 404, 'link');
  const next = await login('administrator');
  for (const after of cursors)
    assert.equal((await request('GET', `/change/list?after=${after}`, next)).status, 410, 'cursor');
  const cursor = await cursorOf(next);
  const created = await create(`new-${round}`, next);
  const { items } = (await request('GET', `/change/list?after=${cursor}&wait=5`, next)).body;
  assert.deepEqual(
    items.map(({ target_id }) => target_id),
    [created],
    'feed',
  );
  for (let waited = 0; !received.includes(created); waited++, await delay(100)) assert(waited < 100, 'webhook');
}

async function prepare() {
  chmodSync(home, 0o755);
  const owner = (await execute('id', ['-u', 'postgres'])).stdout;
  for (const name of ['', 'repo', 'log']) {
    if (name !== '') mkdirSync(join(home, name));
    chownSync(join(home, name), Number(owner), Number(owner));
  }
  writeFileSync(
    join(home, 'pgbackrest.conf'),
    `[global]\nrepo1-path=${home}/repo\nlog-path=${home}/log\nlock-path=${home}/log\nspool-path=${home}/log
start-fast=y\ncompress-type=lz4\nprocess-max=2\n
[identity]\npg1-path=${data}\npg1-port=${port}\npg1-socket-path=${home}\n`,
  );
  await asPostgres(`${bin}/initdb`, '-D', data, '-A', 'trust', '-k', '--locale=C.UTF-8');
  writeFileSync(
    join(data, 'postgresql.auto.conf'),
    `port = ${port}\nunix_socket_directories = '${home}'\nmax_wal_size = '4GB'\narchive_mode = on
archive_command = 'pgbackrest --config=${home}/pgbackrest.conf --stanza=identity archive-push %p'
archive_timeout = 60\n`,
  );
  await startServer();
  await asPostgres(`${bin}/psql`, '-q', '-h', home, '-p', String(port), '-c', 'create role identity login', 'postgres');
  await asPostgres(`${bin}/createdb`, '-h', home, '-p', String(port), '-O', 'identity', 'identity');
  await pgbackrest('stanza-create');
  await pgbackrest('check');
}

async function fill() {
  const client = new pg.Client(url);
  await client.connect();
  await fillUsers(client, users, new Date());
  await client.query(`
    insert into sessions (
      session_id, user_id, user_type, carrier_id, refresh_token_hash, refreshed_at, amr, expires_at, absolute_expires_at
    )
    select gen_random_uuid(), user_id, user_type, carrier_id, sha256(user_id::text::bytea), now(), '{pwd,mfa}',
      now() + interval '1 day', now() + interval '7 days'
    from users`);
  await client.end();
}

async function restoreToPoint() {
  await startService(url);
  await timed(`fill with ${users} users and sessions`, fill);
  await timed('full backup', () => pgbackrest('--type=full', 'backup'));
  const before = await live(url, 1);
  const target = (await psql('select now()')).trim();
  await delay(2_000);
  const cursors = await end(before);
  await runCli(url, 'rotate-keys', '--revoke');
  await psql('select pg_switch_wal()');
  await stopService();
  await stopServer('fast');
  const size = (await execute('du', ['-sm', data, join(home, 'repo')])).stdout.replaceAll(/\t\S*\/(\w+)\n/g, ' MB $1 ');
  figures.push(['size', size]);
  rmSync(data, { recursive: true });
  await timed('restore of the files', () =>
    pgbackrest('--type=time', `--target=${target}`, '--target-action=promote', 'restore'),
  );
  await timed('recovery to the point', async () => {
    await startServer();
    while ((await psql('select pg_is_in_recovery()')).trim() === 't') await delay(100);
  });
  await recover(url, before, cursors);
}

async function restoreDump() {
  // The new server has smaller transaction ids, even after the restore has used some.
  await psql('do $$ begin for i in 1..100000 loop perform pg_current_xact_id(); commit; end loop; end $$');
  const before = await live(url, 2);
  const dump = join(home, 'identity.dump');
  await timed('dump', () =>
    asPostgres(`${bin}/pg_dump`, '-h', home, '-p', String(port), '-Fc', '--no-owner', '-f', dump, 'identity'),
  );
  const cursors = await end(before);
  await stopService();
  const embedded = join(home, 'embedded');
  mkdirSync(embedded);
  const server = await startEmbeddedPostgres(embedded);
  try {
    await timed('restore of the dump into PostgreSQL 18', () =>
      execute(`${bin}/pg_restore`, ['--no-owner', '--exit-on-error', '-j', '2', '-d', server.url, dump]),
    );
    await recover(server.url, before, cursors);
    await stopService();
  } finally {
    await server.stop();
  }
}

async function cleanUp() {
  await stopService();
  receiver.close();
  receiver.closeAllConnections();
  await stopServer('immediate').catch(() => undefined);
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void cleanUp().finally(() => process.exit(1)));
try {
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  await prepare();
  await restoreToPoint();
  await restoreDump();
  console.table(Object.fromEntries(figures));
} finally {
  await cleanUp();
}
