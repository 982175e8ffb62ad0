import { DatabaseError, Pool, type PoolClient } from 'pg';

/**
 * cannot_connect_now: what fails with it, the worker tries again, after seconds and then minutes.
 */
const retried = '57P03';
const lostConnection = /^(08|53|57P)/;

type Done = (release?: Error | boolean) => void;
type OnConnected = (error: Error | undefined, client: PoolClient | undefined, done: Done) => void;

/**
 * The worker's connections. That a job is done, or has failed, the worker says a second time only
 * after a few kinds of faults. A lost connection is none of them: the job would stay locked for
 * four hours, and then run again. Hence such faults get a code that the worker knows.
 */
export class JobsPool extends Pool {
  override connect(): Promise<PoolClient>;
  override connect(onConnected: OnConnected): void;
  override connect(onConnected?: OnConnected): Promise<PoolClient> | void {
    if (onConnected !== undefined) return super.connect(onConnected);
    return super.connect().then(withRetriedFaults, (error: unknown) => Promise.reject(retriedFault(error)));
  }
}

const prepared = new WeakSet<PoolClient>();

function withRetriedFaults(client: PoolClient): PoolClient {
  if (prepared.has(client)) return client;
  prepared.add(client);
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
  const retrying = (...args: unknown[]) =>
    query(...args)?.catch?.((error: unknown) => Promise.reject(retriedFault(error)));
  return Object.assign(client, { query: retrying as typeof client.query });
}

function retriedFault(error: unknown): Error {
  const fault = error instanceof Error ? error : new Error(String(error));
  const isAnswer = fault instanceof DatabaseError && !lostConnection.test(fault.code ?? '');
  return isAnswer ? fault : Object.assign(fault, { code: retried });
}
