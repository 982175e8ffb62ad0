import { Injectable } from '@nestjs/common';
import { TransactionHost } from '@nestjs-cls/transactional';
import type { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import type { EntityTarget, ObjectLiteral, Repository } from 'typeorm';
import type { SqlFragment } from '../common/query/sql';

/** The only way to the database: whatever goes through here is part of the transaction of the call, if there is one. */
@Injectable()
export class Database {
  constructor(private readonly txHost: TransactionHost<TransactionalAdapterTypeOrm>) {}

  /** The TypeORM repository of an entity, bound to the current transaction. Ask anew each time; never keep it. */
  repository<Entity extends ObjectLiteral>(entity: EntityTarget<Entity>): Repository<Entity> {
    return this.txHost.tx.getRepository(entity);
  }

  /** Runs a query and returns its rows, those of `returning` too. */
  readonly run = async <Row>(query: SqlFragment): Promise<Row[]> => {
    const { text, values } = query.toQuery();
    const result = await this.txHost.tx.query<Row[] | [Row[], number]>(text, values);
    // TypeORM answers UPDATE and DELETE with [rows, count], everything else with rows
    return (Array.isArray(result[0]) && typeof result[1] === 'number' ? result[0] : result) as Row[];
  };
}
