// CPU time, WAL and sizes for `npm run bench:capacity`. Needs Linux (/proc).
const fs = require('node:fs');
const { cpuSeconds } = require('./processes');
const { count } = require('./report');

const TABLES = {
  user: ['users', 'user_search', 'user_logins', 'user_seen', 'credentials'],
  session: ['sessions', 'session_search'],
  event: ['events_first'],
};

/** Returns the CPU seconds of all processes of a server, including those that have ended. */
function serverCpu(postmaster) {
  const statOf = (pid) => fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ').map(Number);
  let seconds = 0;
  for (const pid of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      const { 1: parent, 13: userOfEnded, 14: systemOfEnded } = statOf(pid);
      if (![parent, Number(pid)].includes(postmaster)) continue;
      seconds += Number(fs.readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e9;
      if (Number(pid) === postmaster) seconds += (userOfEnded + systemOfEnded) / 100;
    } catch {
      // The process has ended: the postmaster counts it from now on.
    }
  return seconds;
}

/** Returns the private memory of a process in MiB. */
function privateMiB(pid) {
  const text = fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return [...text.matchAll(/Private_\w+:\s+(\d+)/g)].reduce((sum, [, kibibytes]) => sum + Number(kibibytes), 0) / 1024;
}

/** Measures work by the CPU time of the service and of the server, and by its WAL. */
class Meter {
  constructor({ service, database: { client } }, postmaster) {
    Object.assign(this, { service, client, postmaster, idle: { service: 0, server: 0, wal: 0 } });
  }

  async read() {
    const { rows } = await this.client.query(`select pg_current_wal_insert_lsn() - '0/0' as wal`);
    const [service, server] = [cpuSeconds(this.service.child) * 1e6, serverCpu(this.postmaster) * 1e6];
    return { seconds: performance.now() / 1_000, service, server, wal: Number(rows[0].wal) };
  }

  /** Returns the cost per unit beyond that of an idle instance, in microseconds and bytes. */
  async of(units, work) {
    const before = await this.read();
    await work();
    const after = await this.read();
    const share = (field) =>
      (after[field] - before[field] - this.idle[field] * (after.seconds - before.seconds)) / units;
    return { service: share('service'), server: share('server'), wal: share('wal') };
  }
}

/** Returns the bytes of tables and indexes per row that some work adds, or that there are. */
async function bytesPerRow(client, kind, rows, work) {
  const size = async () => {
    const sql = 'select sum(pg_total_relation_size(name::regclass)) as size from unnest($1::text[]) name';
    return Number((await client.query(sql, [TABLES[kind]])).rows[0].size);
  };
  const before = work === undefined ? 0 : await size();
  await work?.();
  return [kind, count(((await size()) - before) / rows)];
}

/** Returns the process of the server that a connection leads to. */
async function postmasterOf(client) {
  const { rows } = await client.query('select pg_backend_pid() as pid');
  return Number(fs.readFileSync(`/proc/${rows[0].pid}/stat`, 'utf8').split(') ')[1].split(' ')[1]);
}

module.exports = { bytesPerRow, Meter, postmasterOf, privateMiB };
