import type { Client } from 'pg';
import { monotonicMs } from '../clock';

const answerMs = 5_000;
/**
 * Writes WAL without touching a table. A commit that only has a transaction id, or that only
 * notifies, does not wait for standbys.
 */
const commitSql = `
  select
    current_setting('transaction_read_only') as read_only,
    pg_logical_emit_message(true, 'carrier-identity lease', '')::text as lsn`;

/**
 * Limits trust in a server to a time after a commit that the server acknowledged under its
 * replication settings. After a failover, an old primary still responds to reads, but its commits
 * wait forever (ADR 0010).
 */
export class CommitLease {
  private heldUntil = 0;
  private dueAt = 0;
  /** process of the last connection */
  private pid = 0;
  private warned = false;

  constructor(private readonly leaseMs: number) {}

  /** Whether the server is trusted. Cheap enough for every request. */
  get isHeld(): boolean {
    return monotonicMs() < this.heldUntil;
  }

  /** Whether to call `renew`: a third of the lease, at most 5 s, after the last commit began. */
  get isDue(): boolean {
    return monotonicMs() >= this.dueAt;
  }

  /** Prepares a new connection that only this lease uses, and renews the lease after `proof`. */
  async take(client: Client, proof: () => Promise<void>): Promise<void> {
    const before = this.pid;
    this.pid = (client as Client & { processID: number }).processID;
    // Roles can have another setting. The process of the last connection may still wait for
    // standbys, and does not notice that its connection is closed.
    await client.query(`
      set synchronous_commit = on;
      select pg_terminate_backend(pid)
      from pg_stat_activity
      where pid = ${before} and application_name = current_setting('application_name')`);
    client.on('notice', () => (this.warned = true));
    await this.renew(client, proof);
  }

  /** Commits. Throws if the server acknowledges the commit neither during the lease nor in 5 s. */
  async renew(client: Client, proof?: () => Promise<void>): Promise<void> {
    const startedAt = monotonicMs();
    [this.dueAt, this.warned] = [Infinity, false];
    const query = { text: commitSql, query_timeout: Math.max(this.heldUntil - startedAt, answerMs) };
    const { rows } = await client.query<{ read_only: string }>(query).catch(({ message }: Error) => {
      throw new Error(`no commit was acknowledged: ${message}`);
    });
    if (rows[0]?.read_only !== 'off') throw new Error('the server is read-only');
    // PostgreSQL warns if the wait for standbys was canceled: only this server has the commit.
    if (this.warned) throw new Error('the commit may not be replicated');
    await proof?.();
    this.heldUntil = startedAt + this.leaseMs;
    this.dueAt = startedAt + Math.min(this.leaseMs / 3, answerMs);
  }
}
