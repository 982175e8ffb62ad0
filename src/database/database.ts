import { Inject, Injectable } from '@nestjs/common';
import { TransactionHost } from '@nestjs-cls/transactional';
import type { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import type { EntityTarget, ObjectLiteral, Repository } from 'typeorm';
import { LRUCache } from 'lru-cache';
import type { CustomTypesConfig, QueryConfig } from 'pg';
import type { Queries } from '../common/query/page';
import type { SqlFragment } from '../common/query/sql';
import { CONFIG, type Config } from '../config/config';
import { untilNoConflict } from './conflicts';
import { Snapshot } from './snapshot';
import { timesAsTexts } from './time-parser';

export type { Snapshot } from './snapshot';

/**
 * The only way to the database: whatever goes through here is part of the transaction of the call,
 * if there is one.
 */
@Injectable()
export class Database {
  /**
   * The planner's guesses at long lists, for 2 seconds: they are not better to the second anyway.
   */
  readonly estimates = new LRUCache<string, number>({ max: 500, ttl: 2_000 });
  /**
   * `run` and `runPrepared` for what is answered as it is read: times are texts, see `Answered`.
   */
  readonly answers = this.queriesWith({ types: timesAsTexts });
  private readonly dates = this.queriesWith({});
  private readonly names = new Map<string, string>();
  private readonly pooled: boolean;

  constructor(
    private readonly txHost: TransactionHost<TransactionalAdapterTypeOrm>,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    this.pooled = config.DATABASE_DIRECT_URL !== config.DATABASE_URL;
  }

  /**
   * The TypeORM repository of an entity, bound to the current transaction. Ask anew each time;
   * never keep it.
   */
  repository<Entity extends ObjectLiteral>(entity: EntityTarget<Entity>): Repository<Entity> {
    return this.txHost.tx.getRepository(entity);
  }

  /** Runs a query and returns its rows, those of `returning` too. */
  readonly run = <Row>(query: SqlFragment): Promise<Row[]> => this.dates.run(query);

  /**
   * As `run`, for a query that comes with every request: each connection parses and plans it once.
   * Only for queries with few texts, since each text stays in memory; never for what a caller's
   * filter is part of, whose plan depends on the values.
   */
  readonly runPrepared = <Row>(query: SqlFragment): Promise<Row[]> => this.dates.runPrepared(query);

  /**
   * Opens a snapshot of this moment, for reading more than fits into memory. A holder can have one;
   * the signal ends it.
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

  private queriesWith(options: { types?: CustomTypesConfig }): Queries {
    return {
      estimates: this.estimates,
      run: (query) => {
        const { text, values } = query.toQuery();
        return this.send({ ...options, text }, values);
      },
      runPrepared: (query) => {
        const { text, values } = query.toQuery();
        // a transaction pooler hands each transaction another connection, which may not know the
        // statement
        return this.send(this.pooled ? { ...options, text } : { ...options, text, name: this.nameOf(text) }, values);
      },
    };
  }

  private nameOf(text: string): string {
    const name = this.names.get(text) ?? `prepared_${this.names.size + 1}`;
    this.names.set(text, name);
    return name;
  }

  /** A statement in no transaction is one by itself. */
  private send<Row>(query: QueryConfig, values: unknown[]): Promise<Row[]> {
    const send = () => this.sendOnce<Row>(query, values);
    return this.txHost.isTransactionActive() ? send() : untilNoConflict(send);
  }

  private async sendOnce<Row>(query: QueryConfig, values: unknown[]): Promise<Row[]> {
    // TypeORM hands it to the driver as it is, and the driver knows named statements and parsers
    const result = await this.txHost.tx.query<Row[] | [Row[], number]>(query as never, values);
    // TypeORM answers UPDATE and DELETE with [rows, count], everything else with rows
    return (Array.isArray(result[0]) && typeof result[1] === 'number' ? result[0] : result) as Row[];
  }
}
