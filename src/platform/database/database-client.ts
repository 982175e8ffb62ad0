import { Client, type ClientConfig } from 'pg';
import { hostUrls } from '../config/host-urls';
import { faultOf, findPrimary, forgetPrimary, type Primary, primaryOf, rememberPrimary } from './primary';

/** Time to connect, after the primary was found. */
const connectMs = 5_000;
/** Idle time after which the kernel tests a connection. Node lets it give up 10 s later. */
const keepAliveMs = 10_000;
/** Time to close a connection. A server that is gone never responds. */
const endMs = 5_000;

/**
 * Makes PostgreSQL close the connections of a host that is gone within a minute, with their locks.
 * The default of Linux is two hours. A pooler rejects these parameters.
 */
export const closeDead =
  '-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3 -c tcp_user_timeout=30s';

/** SQLSTATE of a server that accepts no connections yet. */
export const cannotConnectNow = '57P03';

let generation = 0;
let refusal: Error | null = null;

/** Makes pools close their connections before their next use: they may lead to an old primary. */
export function replaceConnections(): void {
  generation++;
}

/** Makes the pools refuse connections, because the database was restored; null admits them. */
export function refuseConnections(fault: Error | null): void {
  refusal = fault && Object.assign(new Error(fault.message), { code: cannotConnectNow });
  if (fault !== null) replaceConnections();
}

/** Returns why the pools refuse connections; null = they do not. */
export function findRefusal(): Error | null {
  return refusal;
}

/**
 * A connection to the primary among the hosts of a URL. Connects to a single host as `Client` does.
 * Ignores `error` events. A lost connection already fails the current or the next query, and pools
 * add their listener too late: an `error` event before that would end the process.
 */
export class DatabaseClient extends Client {
  private readonly generation = generation;
  private readonly url: string;
  private primary: Promise<Primary> | undefined;
  private isReadOnly = false;

  constructor(config: ClientConfig = {}) {
    const url = config.connectionString ?? '';
    const [connectionString] = hostUrls(url);
    super({
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMs,
      ...config,
      connectionString,
    });
    this.url = url;
    this.on('error', () => this.forgetPrimary());
  }

  /** Whether `replaceConnections` was called since this connection was opened. */
  get isReplaced(): boolean {
    return this.generation !== generation;
  }

  override connect(): Promise<this>;
  override connect(onConnected: (error: Error | null) => void): void;
  override connect(onConnected?: (error: Error | null) => void): Promise<this> | void {
    const work = hostUrls(this.url).length === 1 ? super.connect().then(() => this) : this.connectToPrimary();
    if (onConnected === undefined) return work;
    // In a new turn, so that an error of the callback is no rejection of the promise.
    const report = (error: Error | null) => void process.nextTick(onConnected, error);
    work.then(() => report(null), report);
  }

  override end(): Promise<void>;
  override end(onEnded: (error: Error) => void): void;
  override end(onEnded?: (error: Error) => void): Promise<void> | void {
    const timer = setTimeout(() => this.connection.stream.destroy(), endMs).unref();
    this.once('end', () => clearTimeout(timer));
    return onEnded === undefined ? super.end() : super.end(onEnded);
  }

  /** Makes the next connection look for the primary. */
  forgetPrimary(): void {
    forgetPrimary(this.primary);
  }

  /**
   * Rejects if another host has become the primary. Asynchronous replication needs this: an old
   * primary that was not fenced still acknowledges commits.
   */
  async assertPrimary(): Promise<void> {
    if (this.primary === undefined) return;
    const known = await this.primary;
    const newest = await findPrimary(hostUrls(this.url)).catch(() => known);
    if (newest.timeline <= known.timeline) return;
    rememberPrimary(this.url, newest);
    throw new Error(`${newest.host}:${newest.port} is the primary now`);
  }

  private async connectToPrimary(): Promise<this> {
    this.primary = primaryOf(this.url);
    const { host, port } = await this.primary;
    if ((this as unknown as { _ending: boolean })._ending) throw new Error('Connection terminated');
    Object.assign(this, { host, port });
    // PostgreSQL announces both when a connection opens, so this needs no query.
    this.connection.on('parameterStatus', ({ parameterName, parameterValue }: Record<string, string>) => {
      const isState = parameterName === 'in_hot_standby' || parameterName === 'default_transaction_read_only';
      this.isReadOnly ||= isState && parameterValue === 'on';
    });
    try {
      await super.connect();
      if (!this.isReadOnly) return this;
      this.end().catch(() => undefined);
      throw faultOf(`${host}:${port}`, 'is read-only', '25006');
    } catch (error) {
      this.forgetPrimary();
      throw error;
    }
  }
}
