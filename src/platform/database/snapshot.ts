import type { Client } from 'pg';
import { AppError } from '../../http/errors/app-error';
import { markDriverFault } from '../../http/errors/database-error';
import { limitReached } from '../../http/errors/limit-reached';
import type { SqlFragment } from '../../http/lists/sql';
import { DatabaseClient } from './database-client';
import { withStatementSpans } from '../tracing/traced-client';

/**
 * Maximum number of open snapshots per process. Their connections are not part of the pool. Workers
 * do not divide it: with one snapshot per worker, an actor could occupy all of them.
 */
const openMax = 2;
/** Holders of the open snapshots. One each, so that no actor can occupy all of them. */
const holders = new Set<string>();
const alreadyRunning = 'You or your carrier have a running request of this kind. Wait until it ends, or cancel it.';

/**
 * A read-only snapshot of the database, to be read in batches for any length of time.
 * Uses a separate connection, so that a slow reader does not block the pool. Aborting the signal
 * closes the snapshot, even during a statement.
 */
export class Snapshot {
  private pid = 0;
  private running = false;
  private closing: Promise<void> | null = null;

  private constructor(
    private readonly client: Client,
    /** cancels the running statement over another connection */
    private readonly cancel: (pid: number) => Promise<unknown>,
    private readonly holder: string,
  ) {}

  /**
   * Opens a snapshot for a holder, such as a carrier.
   * @throws request.rate_limited if the holder has an open snapshot; service.overloaded if the
   * instance has no free snapshot
   */
  static async open(
    url: string,
    cancel: (pid: number) => Promise<unknown>,
    holder: string,
    signal: AbortSignal,
  ): Promise<Snapshot> {
    if (holders.has(holder)) throw limitReached({ name: 'concurrent', max: 1, detail: alreadyRunning }, 5);
    if (holders.size >= openMax) throw new AppError('service.overloaded');
    holders.add(holder);
    const client = new (withStatementSpans(DatabaseClient))({
      connectionString: url,
      application_name: 'carrier-identity snapshot',
    });
    const snapshot = new Snapshot(client, cancel, holder);
    try {
      await client.connect();
      await snapshot.begin();
    } catch (error) {
      await snapshot.close();
      throw markDriverFault(error);
    }
    signal.addEventListener('abort', () => void snapshot.close(), { once: true });
    if (signal.aborted) await snapshot.close();
    return snapshot;
  }

  /** Runs a query and returns all rows at once. */
  async run<Row>(query: SqlFragment): Promise<Row[]> {
    const { text, values } = query.toQuery();
    return (await this.execute(() => this.client.query({ text, values }))).rows as Row[];
  }

  /**
   * Yields the rows of a query with one text column, in batches of `rows` joined to one text.
   * Adds `end` after each row. Fetches the next batch while the caller uses the current one.
   */
  async *texts(query: SqlFragment, rows: number, end: string): AsyncGenerator<string> {
    const fetch = () => {
      const fetched = this.execute(() =>
        this.client.query<[string]>({ text: `fetch ${rows} from texts`, rowMode: 'array' }),
      );
      // Avoids an unhandled rejection; the `await` below still throws.
      fetched.catch(() => undefined);
      return fetched;
    };
    try {
      const { text, values } = query.toQuery();
      await this.execute(() => this.client.query({ text: `declare texts no scroll cursor for ${text}`, values }));
      for (let next = fetch(); ;) {
        const { rows: lines } = await next;
        if (lines.length === 0) return;
        next = fetch();
        yield lines.map(([line]) => line).join(end) + end;
      }
    } finally {
      await this.close();
    }
  }

  /** Closes the connection. Further calls have no effect. */
  close(): Promise<void> {
    this.closing ??= (async () => {
      // The process id belongs to this connection until it ends, so no other statement is canceled.
      if (this.running) await this.cancel(this.pid).catch(() => undefined);
      await this.client.end().catch(() => undefined);
      holders.delete(this.holder);
    })();
    return this.closing;
  }

  /** Statements have no timeout. Between two statements, a slow client may pause for 30 s. */
  private async begin(): Promise<void> {
    await this.client.query(`
      begin isolation level repeatable read, read only;
      set local statement_timeout = 0;
      set local jit = off;
      set local lock_timeout = '5s';
      set local tcp_user_timeout = '30s';
      set local idle_in_transaction_session_timeout = '40s'`);
    const { rows } = await this.client.query<{ pid: number }>('select pg_backend_pid() as pid');
    this.pid = rows[0]?.pid ?? 0;
  }

  private async execute<Result>(work: () => Promise<Result>): Promise<Result> {
    this.running = true;
    try {
      return await work();
    } catch (error) {
      // After `close` the error is expected, because `close` cancels the statement.
      throw this.closing === null ? markDriverFault(error) : new AppError('service.database_unavailable');
    } finally {
      this.running = false;
    }
  }
}
