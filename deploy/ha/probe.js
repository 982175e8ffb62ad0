// Commits on bare connections, as the measure of what the service adds to a failover.
const { setTimeout: delay } = require('node:timers/promises');

const EVERY_MS = 100;
const PATIENCE_MS = 1_000;
const COMMIT = `select case when not pg_is_in_recovery() then pg_logical_emit_message(true, 'drill', '') end as place`;
const CONNECTIONS = `select count(*)::integer as count from pg_stat_activity where application_name like 'carrier-%'`;
/** Connections are counted with every twentieth commit. */
const COUNT_EVERY = 20;

/** Commits at each node, and through the load balancer if there is one. */
class Probe {
  #isStopped = false;
  /** times of acknowledged commits */
  nodes = [];
  balanced = [];
  connections = 0;

  constructor(cluster) {
    this.cluster = cluster;
    for (const node of cluster.nodes) void this.#run(cluster.ports[node].postgres, this.nodes);
    if (cluster.variant !== 'hosts') void this.#run(cluster.ports.primary, this.balanced);
  }

  stop() {
    this.#isStopped = true;
  }

  async #run(port, commits) {
    let client = null;
    for (let count = 0; !this.#isStopped; count++) {
      try {
        if (client === null) {
          client = this.cluster.connectTo(port, { query_timeout: PATIENCE_MS });
          await client.connect();
        }
        const { rows } = await client.query(COMMIT);
        if (rows[0].place !== null) commits.push(Date.now());
        if (commits === this.nodes && count % COUNT_EVERY === 0)
          this.connections = Math.max(this.connections, (await client.query(CONNECTIONS)).rows[0].count);
        await delay(EVERY_MS);
      } catch {
        // `end` would wait for a server that hangs.
        client?.connection.stream.destroy();
        client = null;
        await delay(EVERY_MS);
      }
    }
    client?.connection.stream.destroy();
  }
}

module.exports = { Probe };
