import { Client } from 'pg';
import { AppError } from '../common/errors/app-error';
import { markDriverFault } from '../common/errors/database-error';
import type { SqlFragment } from '../common/query/sql';

/** Snapshots that an instance may hold at once: their connections come on top of the pool. */
const openMax = 2;
const retryAfterSeconds = 5;
/** Who holds the open snapshots. One each, so that no actor takes all of them. */
const holders = new Set<string>();

/**
 * What the database holds at one moment, to be read in pieces for as long as it takes: read-only,
 * on a connection of its own, so that a slow reader keeps nobody else from the pool. It is over
 * when the signal says so, even in the middle of a statement.
 */
export class Snapshot {
  private pid = 0;
  private running = false;
  private over: Promise<void> | null = null;

  private constructor(
    private readonly client: Client,
    /** stops the statement that a connection is busy with, from another one */
    private readonly cancel: (pid: number) => Promise<unknown>,
    private readonly holder: string,
  ) {}

  /**
   * Opens a snapshot for a holder, such as an actor.
   * @throws request.rate_limited when the holder has one already, service.overloaded when all are
   * taken
   */
  static async open(
    url: string,
    cancel: (pid: number) => Promise<unknown>,
    holder: string,
    signal: AbortSignal,
  ): Promise<Snapshot> {
    if (holders.has(holder)) throw tooMany();
    if (holders.size >= openMax) throw new AppError('service.overloaded');
    holders.add(holder);
    const client = new Client({
      connectionString: url,
      application_name: 'carrier-identity snapshot',
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
    });
    // a connection that is lost fails the statement it is busy with, or the next
    client.on('error', () => undefined);
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

  /** Rows of a query, all at once. */
  async run<Row>(query: SqlFragment): Promise<Row[]> {
    const { text, values } = query.toQuery();
    return (await this.busy(() => this.client.query({ text, values }))).rows as Row[];
  }

  /**
   * The rows of a query with one column of text, from a cursor: so many at a time, joined to one
   * text, each row with `end` after it. The next ones are on their way meanwhile.
   */
  async *texts(query: SqlFragment, rows: number, end: string): AsyncGenerator<string> {
    const fetch = () => {
      const fetched = this.busy(() =>
        this.client.query<[string]>({ text: `fetch ${rows} from texts`, rowMode: 'array' }),
      );
      // it may fail while nobody waits for it; whoever does is told
      fetched.catch(() => undefined);
      return fetched;
    };
    try {
      const { text, values } = query.toQuery();
      await this.busy(() => this.client.query({ text: `declare texts no scroll cursor for ${text}`, values }));
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

  /** Gives the connection up; once is enough. */
  close(): Promise<void> {
    this.over ??= (async () => {
      // while the connection lives its process is none other's: nobody else's statement is stopped
      if (this.running) await this.cancel(this.pid).catch(() => undefined);
      await this.client.end().catch(() => undefined);
      holders.delete(this.holder);
    })();
    return this.over;
  }

  /**
   * A statement may take long, the client waits for it; and between two the connection may rest as
   * long as a slow client may.
   */
  private async begin(): Promise<void> {
    await this.client
      .query(`begin isolation level repeatable read, read only; set local statement_timeout = 0; set local jit = off;
      set local lock_timeout = '5s'; set local idle_in_transaction_session_timeout = '60s'`);
    const { rows } = await this.client.query<{ pid: number }>('select pg_backend_pid() as pid');
    this.pid = rows[0]?.pid ?? 0;
  }

  private async busy<Result>(work: () => Promise<Result>): Promise<Result> {
    this.running = true;
    try {
      return await work();
    } catch (error) {
      // what was given up is no fault: its reader has gone
      throw this.over === null ? markDriverFault(error) : new AppError('service.database_unavailable');
    } finally {
      this.running = false;
    }
  }
}

/**
 * The headers are those of draft-ietf-httpapi-ratelimit-headers, for a limit of requests at once.
 */
function tooMany(): AppError {
  return new AppError('request.rate_limited', {
    detail: 'The caller has one such request under way. Wait for its end, or close its connection.',
    retry_after_seconds: retryAfterSeconds,
    headers: {
      'ratelimit-policy': '"concurrent";q=1;qu="concurrent-requests"',
      ratelimit: `"concurrent";r=0;t=${retryAfterSeconds}`,
    },
  });
}
