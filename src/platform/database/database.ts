import { Inject, Injectable, Logger } from '@nestjs/common';
import { TransactionHost } from '@nestjs-cls/transactional';
import type { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import type { EntityTarget, ObjectLiteral, Repository } from 'typeorm';
import { LRUCache } from 'lru-cache';
import type { CustomTypesConfig, Pool, QueryConfig } from 'pg';
import type { CursorPosition } from '../../http/lists/cursor';
import type { Queries } from '../../http/lists/page';
import type { SqlFragment } from '../../http/lists/sql';
import { CONFIG, type Config } from '../config/config';
import { MetricsService } from '../metrics/metrics.service';
import { untilNoConflict } from './conflicts';
import { showPool } from './database.metrics';
import type { Reader, Reads, ReadServer, Send } from './reads';
import { Snapshot } from './snapshot';
import { timesAsTexts } from './time-parser';

/** Maximum number of named statements. A connection keeps each in memory until it closes. */
const namesMax = 500;

/** Runs all queries of the service, in the current transaction if there is one. */
@Injectable()
export class Database {
  /** Row estimates of the planner for long lists, cached for 2 seconds. */
  readonly estimates = new LRUCache<string, number>({ max: 500, ttl: 2_000 });
  /** `run` and `runPrepared` for lists: timestamps are returned as texts, see `Answered`. */
  readonly answers = this.queriesWith({ types: timesAsTexts });
  private readonly dates = this.queriesWith({});
  private readonly names = new Map<string, string>();
  private readonly logger = new Logger(Database.name);
  private readonly pooled: boolean;
  private replica: ReadServer | null = null;
  private readonly primary: Reads = {
    ...this.answers,
    horizon: null,
    openSnapshot: (holder, signal) => this.openSnapshot(holder, signal),
  };

  constructor(
    private readonly txHost: TransactionHost<TransactionalAdapterTypeOrm>,
    @Inject(CONFIG) private readonly config: Config,
    metrics: MetricsService,
  ) {
    this.pooled = config.DATABASE_DIRECT_URL !== config.DATABASE_URL;
    metrics.beforeScrape(() => {
      const { master } = this.txHost.tx.dataSource.driver as unknown as { master: Pool };
      showPool('requests', master);
    });
  }

  /**
   * Returns the TypeORM repository of an entity, bound to the current transaction.
   * Call it for each use: a stored repository escapes the transaction.
   */
  repository<Entity extends ObjectLiteral>(entity: EntityTarget<Entity>): Repository<Entity> {
    return this.txHost.tx.getRepository(entity);
  }

  /** Runs a query and returns its rows, including the rows of `returning`. */
  readonly run = <Row>(query: SqlFragment): Promise<Row[]> => this.dates.run(query);

  /**
   * Runs a frequent query as a prepared statement: each connection parses and plans it once.
   * Not for queries with many different texts, which stay in memory (D31). Not for filters of a
   * caller, whose plan depends on the values.
   */
  readonly runPrepared = <Row>(query: SqlFragment): Promise<Row[]> => this.dates.runPrepared(query);

  /** Runs a query, and returns its first row or null. */
  readonly find = async <Row>(query: SqlFragment): Promise<Row | null> => (await this.run<Row>(query))[0] ?? null;

  /** Runs a frequent query like `runPrepared`, and returns its first row or null. */
  readonly findPrepared = async <Row>(query: SqlFragment): Promise<Row | null> =>
    (await this.runPrepared<Row>(query))[0] ?? null;

  /**
   * Opens a snapshot for reading more rows than fit into memory. Limited to one per holder.
   * @param signal closes the snapshot
   * @throws request.rate_limited, service.overloaded
   */
  openSnapshot(holder: string, signal: AbortSignal): Promise<Snapshot> {
    return Snapshot.open(
      this.config.DATABASE_URL,
      (pid) => this.send({ text: 'select pg_cancel_backend($1)' }, [pid]),
      holder,
      signal,
    );
  }

  /** Registers the replica. Call it before the service starts. */
  readFrom(replica: ReadServer): void {
    this.replica = replica;
  }

  /**
   * Returns the server for a list, an export or statistics: the replica if it is up to date and
   * shows all changes of the reader, otherwise the primary. Never use it for decisions.
   * @param reader null = the primary
   * @param after position of the earlier page, for a list whose pages make up a copy
   */
  reads(reader: Reader | null, after?: CursorPosition): Reads {
    if (this.replica === null || reader === null || this.txHost.isTransactionActive()) return this.primary;
    return this.replica.reads(reader, after) ?? this.primary;
  }

  /** Notes a change, which later `reads` of the reader must show. */
  noteChange(reader: Reader): void {
    this.replica?.noteChange(reader);
  }

  /** Returns `answers` for statements that are sent to another server. */
  answersFrom(send: Send): Queries {
    return this.queriesWith({ types: timesAsTexts }, send);
  }

  private queriesWith(
    options: { types?: CustomTypesConfig },
    send: Send = (query, values) => this.send(query, values),
  ): Queries {
    return {
      estimates: this.estimates,
      run: (query) => {
        const { text, values } = query.toQuery();
        return send({ ...options, text }, values);
      },
      runPrepared: (query) => {
        const { text, values } = query.toQuery();
        // A transaction pooler may use another connection, without the prepared statement.
        const name = this.pooled ? undefined : this.nameOf(text);
        return send(name === undefined ? { ...options, text } : { ...options, text, name }, values);
      },
    };
  }

  /** Returns the name of a statement. Statements beyond the maximum have none. Reuses no name. */
  private nameOf(text: string): string | undefined {
    const known = this.names.get(text);
    if (known !== undefined || this.names.size === namesMax) return known;
    const name = `prepared_${this.names.size + 1}`;
    this.names.set(text, name);
    if (this.names.size === namesMax) this.logger.warn(`${namesMax} statements have names; others stay unnamed`);
    return name;
  }

  /**
   * Sends a statement. Retries a conflict outside a transaction; inside, the whole transaction is
   * retried.
   */
  send<Row>(query: QueryConfig, values: unknown[]): Promise<Row[]> {
    const send = () => this.sendOnce<Row>(query, values);
    return this.txHost.isTransactionActive() ? send() : untilNoConflict(send);
  }

  private async sendOnce<Row>(query: QueryConfig, values: unknown[]): Promise<Row[]> {
    // TypeORM passes the object to the driver, which supports names and type parsers.
    const result = await this.txHost.tx.query<Row[] | [Row[], number]>(query as never, values);
    // TypeORM returns [rows, count] for UPDATE and DELETE, and rows for all other statements.
    return (Array.isArray(result[0]) && typeof result[1] === 'number' ? result[0] : result) as Row[];
  }
}
