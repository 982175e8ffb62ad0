// `npm run bench:capacity`: measures the costs in docs/capacity.md.
//   --users 100000
//   --rounds 2 (with full-page images, and as many without)
//   --only login,check (parts of names)
// Measures CPU time and bytes, which other work on the machine hardly changes. Subtracts the cost
// of an idle instance. Autovacuum is off; vacuum is one of the operations. Needs Linux (/proc).
const { setTimeout: delay } = require('node:timers/promises');
const { dealOut, Logins, Operations } = require('./callers');
const { defineOperations, EVENTS, LOCALE, openSessions } = require('./capacity-operations');
const { bytesPerRow, Meter, postmasterOf, privateMiB } = require('./capacity-meter');
const { choose } = require('./fill');
const { ask, rssMiB } = require('./processes');
const { count, grid, median } = require('./report');
const { chosen, connect, optionsOf, prepare, run, tell } = require('./stage');

const IDLE_SECONDS = 10;
const CONNECTIONS = 16;
const ROWS = 50_000;
const AMOUNTS = { checks: 4_000, notes: 4_000, refreshes: 3_000, logouts: 960 };
const SETTINGS = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1', FRESH_AUTH_SECONDS: '3600' };
/** Users who log in from a new address. All others have logged in from this machine before. */
const STRANGERS = 2_000;
const KNOWN_ADDRESS = `
  insert into login_attempts (account, address, known_until, used_on)
  select unnest($1::text[]), '127.0.0.1', now() + interval '30 days', current_date`;
const NOTICES = 3_000;
const LISTENERS = 50;
const COMMITTERS = 32;
const COMMIT_SECONDS = 2;
/** Simulated times of a commit, besides that of this disk. */
const DELAYS_MS = [0, 1, 5];
const options = optionsOf({ users: 100_000, rounds: 2, only: '' });

/** Measures a round of an operation. */
async function measure({ url, requests, units, before, work, after }, meter, generator) {
  const all = requests?.() ?? [];
  await meter.superuser.query('checkpoint');
  await before?.();
  return meter.of(units ?? all.length, async () => {
    if (work !== undefined) return work(units);
    const job = { url, amount: all.length, requests: dealOut(all, CONNECTIONS, (one) => one) };
    const { failed, requests: sent, statuses } = await ask(generator, 'run', job);
    if (failed > 0 || sent !== all.length) throw new Error(`${failed} of ${sent} failed ${JSON.stringify(statuses)}`);
    await after?.();
  });
}

/** Sends notifications with more and more listening connections. Returns the cost of each. */
async function measureNotices(meter, url) {
  const send = async () => {
    for (let sent = 0; sent < NOTICES; sent++) await meter.client.query(`select pg_notify('user_changed', '${sent}')`);
  };
  const alone = await meter.of(NOTICES, send);
  for (let index = 0; index < LISTENERS; index++) await (await connect(url)).query('listen user_changed');
  const all = await meter.of(NOTICES, send);
  return { server: alone.server, listener: (all.server - alone.server) / LISTENERS, service: alone.service };
}

/**
 * Counts commits per second of concurrent transactions with and without NOTIFY. `commit_delay`
 * simulates a slower commit, for example of a synchronous standby.
 */
async function measureCommits(url) {
  const clients = await Promise.all(Array.from({ length: COMMITTERS }, () => connect(url)));
  const rows = [];
  for (const ms of DELAYS_MS) {
    await Promise.all(clients.map((one) => one.query(`set commit_siblings = 0; set commit_delay = ${ms * 1_000}`)));
    const rates = [];
    for (const channel of [`''`, `pg_notify('capacity', '')::text`]) {
      let commits = 0;
      const until = performance.now() + COMMIT_SECONDS * 1_000;
      const keepOn = async (one) => {
        for (; performance.now() < until; commits++)
          await one.query(`select ${channel}, pg_logical_emit_message(true, 'capacity', '')`);
      };
      await Promise.all(clients.map(keepOn));
      rates.push(count(commits / COMMIT_SECONDS));
    }
    rows.push([ms === 0 ? 'none' : `${ms} ms`, ...rates]);
  }
  return rows;
}

/** Returns the median of the values, and their range. */
function spread(values) {
  const shown = (value) => (Math.abs(value) < 100 ? value.toFixed(1) : count(value));
  return `${shown(median(values))} (${shown(Math.min(...values))}–${shown(Math.max(...values))})`;
}

async function main() {
  const stage = await prepare({ ...options, settings: SETTINGS });
  const { about, database, service, generator } = stage;
  const { client, url } = database;
  const meter = new Meter(stage, await postmasterOf(client));
  const superuser = Object.assign(new URL(url), { username: 'postgres', pathname: '/postgres' }).href;
  meter.superuser = await connect(superuser);
  const configure = async (setting) => {
    await meter.superuser.query(`alter system set ${setting}`);
    await meter.superuser.query('select pg_reload_conf()');
    await delay(1_000);
  };
  await configure('autovacuum = off');

  const sizes = [await bytesPerRow(client, 'user', options.users)];
  let sessions;
  const rounds = 1 + 2 * options.rounds;
  const opened = Object.values(AMOUNTS).reduce((sum, amount) => sum + amount, 0) * rounds;
  const open = async () => (sessions = await openSessions(stage, AMOUNTS, rounds));
  sizes.push(await bytesPerRow(client, 'session', opened, open));
  for (const [name, type, target, changes] of [
    ['event of a login', 'login.succeeded', 'login', {}],
    ['event of a change', 'user.changed', 'user', LOCALE],
  ]) {
    const insert = () => client.query(EVENTS, [ROWS, type, target, changes]);
    sizes.push([name, (await bytesPerRow(client, 'event', ROWS, insert))[1]]);
  }

  const [administrator] = await choose(client, `roles @> '{administrator}'`, 1);
  const { access_token } = await new Logins(service.url, [administrator]).open(administrator);
  const caller = new Operations(service.url, access_token);
  const known = await choose(
    client,
    `status = 'active' and user_type = 'carrier' and last_login_at is not null`,
    20_000,
  );
  const strangers = known.splice(0, STRANGERS);
  await client.query(KNOWN_ADDRESS, [known.map(({ user_id }) => user_id)]);
  const context = { client, url: service.url, known, strangers, caller, sessions };
  const operations = chosen(defineOperations(context), options.only);

  tell('idle');
  const idle = await meter.of(IDLE_SECONDS, () => delay(IDLE_SECONDS * 1_000));
  meter.idle = idle;
  const lines = operations.map(() => []);
  for (let round = 0; round < rounds; round++) {
    const images = round > options.rounds ? 'on' : 'off';
    await configure(`full_page_writes = ${images}`);
    await client.query('vacuum analyze');
    tell(round === 0 ? 'warming up' : `round ${round}, full-page images ${images}`);
    for (const [index, operation] of operations.entries()) {
      const measured = await measure(operation, meter, generator);
      tell(`${operation.name}: ${Object.values(measured).map(count).join(' ')}`);
      if (round > 0) lines[index].push({ images, ...measured });
    }
  }
  const held = await client.query(
    `select pid, application_name as name from pg_stat_activity where datname = current_database()`,
  );
  const memory = held.rows.filter(({ name }) => name.endsWith('requests')).map(({ pid }) => privateMiB(pid));
  const names = [...new Set(held.rows.map(({ name }) => name))];
  const rss = rssMiB(service.child);
  tell('notifications');
  const notices = await measureNotices(meter, url);
  const commits = await measureCommits(superuser);

  console.log(`\n${about}\n`);
  const rows = lines.map((all, index) => {
    const of = (field, images) =>
      spread(all.filter((one) => !images || one.images === images).map((one) => one[field]));
    return [operations[index].name, of('service'), of('server'), of('wal', 'off'), of('wal', 'on')];
  });
  const idleRow = ['an idle instance, per second', ...Object.values(idle).map((value) => count(value)), ''];
  const head = ['per operation', 'service µs', 'PostgreSQL µs', 'WAL bytes', 'WAL bytes after a checkpoint'];
  console.log(grid(head, [...rows, idleRow], [0]));
  console.log(`Median (least–most) of ${options.rounds} rounds of each kind; CPU time of all rounds.\n`);
  console.log(grid(['stored', 'bytes with indexes'], sizes, [0]));
  const connections = names.map((name) => `${held.rows.filter((row) => row.name === name).length} ${name || 'bench'}`);
  console.log(
    `\nConnections: ${connections.join(', ')}. Private memory of one of the requests: ${spread(memory)} MiB.`,
  );
  console.log(`RSS of the service: ${rss} MiB.`);
  const [server, listener, process] = [notices.server, notices.listener, notices.service].map((one) => one.toFixed(1));
  console.log(
    `A notification: ${server} µs of PostgreSQL, ${listener} µs more per listener, ${process} µs of the service.\n`,
  );
  console.log(grid(['delay of a commit', 'commits/s', 'commits/s with NOTIFY'], commits, [0]));
}

run(main);
