// The faults of a drill. Each returns when the cluster is healthy again.
const { setTimeout: delay } = require('node:timers/promises');
const { signal } = require('./processes');

const LISTENERS = `application_name = 'carrier-identity notifications'`;

/** Freezes processes, lets something happen, and continues them. */
async function frozen(pids, work) {
  signal(pids, 'SIGSTOP');
  try {
    await work();
  } finally {
    signal(pids, 'SIGCONT');
  }
}

const allOf = (cluster, node) => Object.values(cluster.pids(node)).flat();

async function switchover({ cluster }) {
  await cluster.switchover();
}

/** The machine of the primary is lost, and comes back. */
async function killPrimary({ cluster }) {
  const old = await cluster.leader();
  cluster.kill(old);
  await cluster.newLeader(old);
  await delay(5_000);
  cluster.revive(old);
}

/** An instance is lost while it sends mails, and stays away until the other one has its jobs. */
async function killInstance({ instances, sinks, seconds }) {
  sinks.mails.setDelay(4_000);
  await delay(3_000);
  await instances.kill(1);
  sinks.mails.setDelay();
  await delay(seconds(70) * 1_000);
  await instances.restart(1);
}

/** The primary hangs, is replaced, and wakes up as if no time had passed. */
async function freezePrimary({ cluster, seconds }) {
  const old = await cluster.leader();
  await frozen(allOf(cluster, old), async () => {
    await cluster.newLeader(old);
    await delay(seconds(10) * 1_000);
  });
}

/**
 * The old primary continues to run after its replacement, because Patroni hangs and cannot stop it.
 * The second instance stays connected to it.
 */
async function zombie({ cluster, seconds }) {
  const old = await cluster.leader();
  await frozen(cluster.pids(old).patroni, async () => {
    await cluster.newLeader(old);
    await delay(seconds(30) * 1_000);
  });
}

/** The connections that report changes end, and then hang. */
async function cutListeners({ cluster }) {
  await cluster.rows(`select pg_terminate_backend(pid) from pg_stat_activity where ${LISTENERS}`);
  await delay(10_000);
  const rows = await cluster.rows(`select pid from pg_stat_activity where ${LISTENERS}`);
  await frozen(
    rows.map(({ pid }) => pid),
    () => delay(15_000),
  );
}

/** Both standbys hang, so that commits wait. */
async function freezeStandbys({ cluster }) {
  const leader = await cluster.leader();
  const standbys = cluster.nodes.filter((node) => node !== leader);
  await frozen(
    standbys.flatMap((node) => allOf(cluster, node)),
    () => delay(35_000),
  );
}

/** All nodes are lost for a minute. */
async function outage({ cluster }) {
  for (const node of cluster.nodes) cluster.kill(node);
  await delay(60_000);
  for (const node of cluster.nodes) cluster.revive(node);
}

const faults = {
  switchover: { title: 'switchover', run: switchover },
  'kill-primary': { title: 'kill -9 of the primary', run: killPrimary },
  'kill-instance': { title: 'kill -9 of an instance', run: killInstance },
  'freeze-primary': { title: 'frozen primary that wakes up', run: freezePrimary },
  zombie: { title: 'zombie primary', run: zombie, isKept: true },
  'cut-listeners': { title: 'cut and frozen LISTEN', run: cutListeners },
  'freeze-standbys': { title: 'frozen standbys, 35 s', run: freezeStandbys },
  outage: { title: 'no database, 60 s', run: outage },
  'zombie-async': { title: 'zombie primary, asynchronous', run: zombie, isKept: true, isAsynchronous: true },
};

module.exports = { faults };
