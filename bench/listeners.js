// The notification connections of the instances, as seen by the database.
const { setTimeout: delay } = require('node:timers/promises');

const NAME = 'carrier-identity notifications';
const BACK_WITHIN_MS = 5_000;
const LOOK_EVERY_MS = 5;
/** Time that an instance may need after reconnecting until it trusts its caches again. */
const CATCH_UP_MS = 50;

/** Returns the backends of the notification connections. */
async function listenersOf(client) {
  const { rows } = await client.query(
    'select pid from pg_stat_activity where application_name = $1 and datname = current_database()',
    [NAME],
  );
  return rows.map(({ pid }) => pid);
}

/** The notification connection of one instance: any that does not belong to the other instances. */
class Listener {
  constructor(client, others) {
    this.client = client;
    this.others = others;
    this.seen = new Set();
    /** how often the connection did not return in time */
    this.missing = 0;
  }

  /** Waits until the connection is back and the instance trusts its caches. */
  async back() {
    const until = performance.now() + BACK_WITHIN_MS;
    let [pid] = await this.find();
    while (pid === undefined && performance.now() < until) {
      await delay(LOOK_EVERY_MS);
      [pid] = await this.find();
    }
    if (pid === undefined) this.missing++;
    else this.seen.add(pid);
    await delay(CATCH_UP_MS);
  }

  async find() {
    return (await listenersOf(this.client)).filter((pid) => !this.others.includes(pid));
  }

  /** Terminates the backend and waits for its end. */
  async cut() {
    for (const pid of await this.find()) await this.client.query('select pg_terminate_backend($1, 5000)', [pid]);
  }

  /** number of reconnections */
  get reconnected() {
    return Math.max(0, this.seen.size - 1);
  }
}

module.exports = { Listener, listenersOf, NAME };
