import { type Client, DatabaseError, Pool, type PoolClient } from 'pg';
import type { DatabaseClient } from '../database/database-client';

/**
 * SQLSTATE cannot_connect_now, one of the few errors after which the worker retries a statement.
 */
const retriedState = '57P03';
/** Lost connections, read-only servers and time limits. */
const temporary = /^(08|25006|53|55P03|57)/;

type Done = (release?: Error | boolean) => void;
type OnConnected = (error: Error | undefined, client: PoolClient | undefined, done: Done) => void;

/**
 * Connection pool of the worker. Gives temporary errors a code after which the worker retries.
 * Without the code, a job whose result could not be stored would stay locked for four hours and
 * then run again.
 * @see https://github.com/graphile/worker/issues/210
 */
export class JobsPool extends Pool {
  override connect(): Promise<PoolClient>;
  override connect(onConnected: OnConnected): void;
  override connect(onConnected?: OnConnected): Promise<PoolClient> | void {
    const connected = this.connectCurrent();
    if (onConnected === undefined)
      return connected.then(withRetriedErrors, (error: unknown) => Promise.reject(retriedError(error)));
    connected.then(
      (client) => onConnected(undefined, client, (release) => client.release(release)),
      (error: Error) => onConnected(error, undefined, () => undefined),
    );
  }

  /** Closes connections that may lead to an old primary: two servers would run the same jobs. */
  private async connectCurrent(): Promise<PoolClient> {
    const client = (await super.connect()) as PoolClient & DatabaseClient;
    if (!client.isReplaced) return client;
    client.release(true);
    return this.connectCurrent();
  }
}

const prepared = new WeakSet<PoolClient>();

function withRetriedErrors(client: PoolClient): PoolClient {
  if (prepared.has(client)) return client;
  prepared.add(client);
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
  const retrying = (...args: unknown[]) =>
    query(...args)?.catch?.((error: unknown) => Promise.reject(retriedError(error, client as PoolClient & Client)));
  return Object.assign(client, { query: retrying as typeof client.query });
}

function retriedError(error: unknown, client?: Client): Error {
  const failure = error instanceof Error ? error : new Error(String(error));
  // The server is read-only, and the next connection may lead to the new primary.
  if ((error as DatabaseError).code === '25006') void client?.end();
  const isResponse = failure instanceof DatabaseError && !temporary.test(failure.code ?? '');
  return isResponse ? failure : Object.assign(failure, { code: retriedState });
}
