// A cluster on loopback: etcd, three nodes of PostgreSQL under Patroni, and the balancers before
// them.
const { randomBytes } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { Client } = require('pg');
const { freePort } = require('../../bench/processes');
const { signal, treeOf } = require('./processes');
const { needsEtcd2, programs, serverAccount } = require('./programs');

const NODES = ['pg1', 'pg2', 'pg3'];
const ROLE = 'carrier_identity';
const HEALTHY_WITHIN_MS = 180_000;
/** Time after which Patroni replaces a primary that does not renew its key in etcd. */
const TTL_SECONDS = 20;

/** Waits for a condition. An error counts as false. */
async function waitFor(what, condition, withinMs = HEALTHY_WITHIN_MS) {
  const end = Date.now() + withinMs;
  while (
    !(await Promise.resolve()
      .then(condition)
      .catch(() => false))
  ) {
    if (Date.now() > end) throw new Error(`waited ${withinMs / 1_000} s for: ${what}`);
    await delay(200);
  }
}

/** Patroni reads YAML, which includes JSON. */
function patroniConfig({ directory, node, ports, etcd, password }) {
  const listen = `127.0.0.1:${ports.postgres}`;
  const rest = `127.0.0.1:${ports.rest}`;
  const account = (username) => ({ username, password });
  const pg_hba = [
    'local all all trust',
    'host all all 127.0.0.1/32 scram-sha-256',
    'host replication all 127.0.0.1/32 scram-sha-256',
  ];
  return {
    scope: 'drill',
    name: node,
    restapi: { listen: rest, connect_address: rest },
    [needsEtcd2() ? 'etcd' : 'etcd3']: { host: `127.0.0.1:${etcd}` },
    bootstrap: {
      dcs: {
        ttl: TTL_SECONDS,
        loop_wait: 5,
        retry_timeout: 5,
        maximum_lag_on_failover: 1_048_576,
        synchronous_mode: true,
        postgresql: {
          use_pg_rewind: true,
          use_slots: true,
          parameters: { max_connections: 120, shared_buffers: '64MB', wal_log_hints: 'on', wal_keep_size: '256MB' },
        },
      },
      initdb: [{ encoding: 'UTF8' }, 'data-checksums'],
    },
    postgresql: {
      listen,
      connect_address: listen,
      data_dir: path.join(directory, node),
      bin_dir: programs.postgres,
      pgpass: path.join(directory, `${node}.pgpass`),
      authentication: {
        superuser: account('postgres'),
        replication: account('replicator'),
        rewind: account('rewinder'),
      },
      parameters: { unix_socket_directories: directory },
      pg_hba,
    },
    watchdog: { mode: 'off' },
  };
}

/**
 * The port `primary` has the settings that docs/high-availability.md recommends. The port `kept`
 * lacks `shutdown-sessions`: connections to an old primary survive.
 */
function haproxyConfig(ports) {
  const listen = (name, onMarkedDown) =>
    [
      `listen ${name}`,
      `  bind 127.0.0.1:${ports[name]}`,
      '  option httpchk OPTIONS /primary',
      '  http-check expect status 200',
      `  default-server inter 500ms fall 2 rise 1${onMarkedDown}`,
      ...NODES.map((node) => `  server ${node} 127.0.0.1:${ports[node].postgres} check port ${ports[node].rest}`),
    ].join('\n');
  return `defaults
  mode tcp
  maxconn 1000
  timeout connect 2s
  timeout client 30m
  timeout server 30m
  timeout check 1s
  retries 2
${listen('primary', ' on-marked-down shutdown-sessions')}
${listen('kept', '')}
`;
}

function pgbouncerConfig(directory, ports) {
  const database = (port) => `host=127.0.0.1 port=${port} dbname=${ROLE}`;
  return `[databases]
${ROLE} = ${database(ports.primary)}
kept = ${database(ports.kept)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${ports.pgbouncer}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${path.join(directory, 'users.txt')}
pool_mode = transaction
server_login_retry = 1
server_connect_timeout = 3
`;
}

/** Three nodes and the ways to them. */
class Cluster {
  #password = randomBytes(16).toString('hex');

  constructor(directory, processes, variant) {
    Object.assign(this, { directory, processes, variant, nodes: NODES, ports: {} });
  }

  /** Starts all servers, and waits until both standbys follow the primary. */
  async start() {
    const { directory, ports, processes } = this;
    const account = serverAccount();
    if (account.uid !== undefined) fs.chownSync(directory, account.uid, account.gid);
    for (const name of ['etcd', 'peer', 'primary', 'kept', 'pgbouncer']) ports[name] = await freePort();
    for (const node of NODES) ports[node] = { postgres: await freePort(), rest: await freePort() };
    const [client, peer] = [`http://127.0.0.1:${ports.etcd}`, `http://127.0.0.1:${ports.peer}`];
    const etcd = [programs.etcd, '--data-dir', path.join(directory, 'etcd'), '--log-level', 'warn'];
    if (needsEtcd2()) etcd.push('--enable-v2');
    const clients = ['--listen-client-urls', client, '--advertise-client-urls', client];
    const peers = ['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer];
    const patient = ['--heartbeat-interval', '500', '--election-timeout', '5000'];
    processes.start(
      'etcd',
      [...etcd, ...clients, ...peers, '--initial-cluster', `default=${peer}`, ...patient],
      account,
    );
    await waitFor('etcd', async () => (await fetch(`${client}/health`)).ok);
    for (const node of NODES) {
      const config = { directory, node, ports: ports[node], etcd: ports.etcd, password: this.#password };
      this.#write(`${node}.json`, JSON.stringify(patroniConfig(config)), account);
      this.revive(node);
    }
    await this.healthy();
    await this.#createDatabase();
    if (this.variant === 'hosts') return;
    this.#write('haproxy.cfg', haproxyConfig(ports), account);
    processes.start('haproxy', [programs.haproxy, '-db', '-f', path.join(directory, 'haproxy.cfg')], account);
    if (this.variant !== 'pgbouncer') return;
    this.#write('users.txt', `"${ROLE}" "${this.#password}"\n`, account);
    this.#write('pgbouncer.ini', pgbouncerConfig(directory, ports), account);
    processes.start('pgbouncer', [programs.pgbouncer, path.join(directory, 'pgbouncer.ini')], account);
  }

  /**
   * Returns the settings of an instance.
   * @param isKept whether connections to an old primary survive
   */
  urls(isKept) {
    const { ports } = this;
    const url = (hosts, database = ROLE) => `postgres://${ROLE}:${this.#password}@${hosts}/${database}`;
    const balanced = url(`127.0.0.1:${isKept ? ports.kept : ports.primary}`);
    if (this.variant === 'haproxy') return { DATABASE_URL: balanced };
    if (this.variant === 'pgbouncer')
      return {
        DATABASE_URL: url(`127.0.0.1:${ports.pgbouncer}`, isKept ? 'kept' : ROLE),
        DATABASE_DIRECT_URL: balanced,
      };
    const hosts = NODES.map((node) => `127.0.0.1:${ports[node].postgres}`).join(',');
    return { DATABASE_URL: `${url(hosts)}?target_session_attrs=read-write` };
  }

  /** Returns a connection of the superuser to a port. Its owner has to end it. */
  connectTo(port, options = {}) {
    const client = new Client({
      host: '127.0.0.1',
      port,
      user: 'postgres',
      password: this.#password,
      database: 'postgres',
      connectionTimeoutMillis: 1_000,
      query_timeout: 120_000,
      ...options,
    });
    client.on('error', () => undefined);
    return client;
  }

  /** Returns the rows of a query on the primary. */
  async rows(text, values, database = ROLE) {
    const { postgres } = this.ports[await this.leader()];
    const client = this.connectTo(postgres, { database });
    await client.connect();
    try {
      return (await client.query(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** Returns the node that Patroni reports as the primary. */
  async leader() {
    for (const node of NODES) if (await this.#isLeader(node)) return node;
    throw new Error('no primary');
  }

  /** Waits until another node is the primary. */
  async newLeader(old) {
    const others = NODES.filter((node) => node !== old);
    const isDone = async () => (await Promise.all(others.map((node) => this.#isLeader(node)))).includes(true);
    await waitFor('a new primary', isDone);
  }

  /** Waits until all nodes follow the primary, one of them synchronously if that is on. */
  async healthy() {
    await waitFor('a healthy cluster', async () => {
      const node = await this.leader();
      const { members } = await (await this.#ask(node, 'GET', '/cluster')).json();
      const { synchronous_mode } = await (await this.#ask(node, 'GET', '/config')).json();
      const isRunning = ({ state, timeline }) =>
        ['running', 'streaming'].includes(state) && timeline === members.find(({ role }) => role === 'leader').timeline;
      const isSynchronous = members.some(({ role }) => role === 'sync_standby');
      return members.length === NODES.length && members.every(isRunning) && isSynchronous === synchronous_mode;
    });
  }

  /** Moves the primary to another node in an orderly way. */
  async switchover() {
    const leader = await this.leader();
    const response = await this.#ask(leader, 'POST', '/switchover', { leader }, 60_000);
    if (!response.ok) throw new Error(`switchover: ${await response.text()}`);
  }

  /** Turns synchronous replication on or off. */
  async setSynchronous(isOn) {
    await this.#ask(await this.leader(), 'PATCH', '/config', { synchronous_mode: isOn });
    await this.healthy();
    await waitFor('the setting', async () => {
      const [{ names }] = await this.rows(`select current_setting('synchronous_standby_names') as names`);
      return (names !== '') === isOn;
    });
  }

  /** Returns the processes of a node: Patroni, then PostgreSQL. */
  pids(node) {
    return { patroni: [this.processes.pid(node)].filter(Boolean), postgres: this.#postgres(node) };
  }

  /** Kills a node as a loss of its machine would. */
  kill(node) {
    const postgres = this.#postgres(node);
    void this.processes.kill(node);
    signal(postgres, 'SIGKILL');
  }

  /** Starts Patroni of a node, which starts PostgreSQL. */
  revive(node) {
    const command = [programs.patroni, path.join(this.directory, `${node}.json`)];
    this.processes.start(node, command, { ...serverAccount(), restart: true, cwd: this.directory });
  }

  /** Kills all servers of PostgreSQL, which outlive Patroni. */
  end() {
    for (const node of NODES) signal(this.#postgres(node), 'SIGKILL');
  }

  async #createDatabase() {
    await this.rows(`create role ${ROLE} login password '${this.#password}'`, [], 'postgres');
    await this.rows(`create database ${ROLE} owner ${ROLE}`, [], 'postgres');
    // PgBouncer does not pass these settings on.
    for (const [setting, value] of [
      ['statement_timeout', '15s'],
      ['lock_timeout', '5s'],
      ['idle_in_transaction_session_timeout', '30s'],
    ])
      await this.rows(`alter role ${ROLE} in database ${ROLE} set ${setting} = '${value}'`, [], 'postgres');
  }

  async #isLeader(node) {
    return this.#ask(node, 'GET', '/primary').then(
      ({ ok }) => ok,
      () => false,
    );
  }

  #ask(node, method, route, body, timeoutMs = 1_000) {
    return fetch(`http://127.0.0.1:${this.ports[node].rest}${route}`, {
      method,
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    });
  }

  #postgres(node) {
    const file = path.join(this.directory, node, 'postmaster.pid');
    if (!fs.existsSync(file)) return [];
    const [pid] = fs.readFileSync(file, 'utf8').split('\n');
    const isOurs = fs.existsSync(`/proc/${pid}`) && fs.readlinkSync(`/proc/${pid}/cwd`) === path.dirname(file);
    return isOurs ? treeOf(Number(pid)) : [];
  }

  #write(name, text, { uid, gid }) {
    const file = path.join(this.directory, name);
    fs.writeFileSync(file, text, { mode: 0o600 });
    if (uid !== undefined) fs.chownSync(file, uid, gid);
  }
}

module.exports = { Cluster, waitFor };
