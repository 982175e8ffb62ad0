// The connections on which the instances are told what has changed, as the database sees them.
const { setTimeout: delay } = require('node:timers/promises');

const NAME = 'carrier-identity notifications';
const BACK_WITHIN_MS = 5_000;
const LOOK_EVERY_MS = 5;
/** What an instance may need after it has listened again until it trusts what it remembers. */
const CATCH_UP_MS = 50;

/** The backends of instances that listen. */
async function listenersOf(client) {
  const { rows } = await client.query(
    'select pid from pg_stat_activity where application_name = $1 and datname = current_database()',
    [NAME],
  );
  return rows.map(({ pid }) => pid);
}

/** The connection of one instance, which is any that is not among those of the others. */
class Listener {
  constructor(client, others) {
    this.client = client;
    this.others = others;
    this.seen = new Set();
    /** how often it was not there again in time */
    this.missing = 0;
  }

  /** Waits until it is there, and a moment more. */
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

  /** Ends its backend, and waits until that has ended. */
  async cut() {
    for (const pid of await this.find()) await this.client.query('select pg_terminate_backend($1, 5000)', [pid]);
  }

  /** How often it came back. */
  get reconnected() {
    return Math.max(0, this.seen.size - 1);
  }
}

module.exports = { Listener, listenersOf, NAME };
