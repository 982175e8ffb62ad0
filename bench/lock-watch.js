// Measures how long the migrations hold locks on tables that make requests wait.
const { clearTimeout, setTimeout } = require('node:timers');
const { Client } = require('pg');

const EVERY_MS = 5;
/** Locks that conflict with the lock of an INSERT, UPDATE or DELETE. */
const HELD = `
  select distinct relation::regclass::text as name, locks.mode
  from pg_locks locks
  join pg_stat_activity using (pid)
  where application_name = 'carrier-identity migrations'
    and locktype = 'relation'
    and granted
    and locks.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
    and relation in (select oid from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace)`;

/** Polls the locks of the migrations, every 5 ms. */
class LockWatch {
  constructor(url) {
    this.client = new Client({ connectionString: url });
    this.since = new Map();
    this.longest = new Map();
  }

  async start() {
    await this.client.connect();
    this.running = this.poll();
  }

  async poll() {
    while (!this.stopped) {
      const { rows } = await this.client.query(HELD);
      const now = performance.now();
      const held = new Set(rows.map(({ name, mode }) => `${name}, ${mode}`));
      for (const key of held) if (!this.since.has(key)) this.since.set(key, now);
      for (const [key, since] of this.since) {
        this.longest.set(key, Math.max(this.longest.get(key) ?? 0, now - since));
        if (!held.has(key)) this.since.delete(key);
      }
      await new Promise((resolve) => (this.timer = setTimeout(resolve, EVERY_MS)));
    }
  }

  /** Returns a line per table and lock, with the longest time in ms. */
  async stop() {
    this.stopped = true;
    await this.running;
    clearTimeout(this.timer);
    await this.client.end();
    const sorted = [...this.longest].sort(([, one], [, other]) => other - one);
    return sorted.map(([key, ms]) => `${key}: held for at most ${Math.round(ms)} ms`).join('\n');
  }
}

module.exports = { LockWatch };
