import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { TransactionalAdapter } from '@nestjs-cls/transactional';
import { TransactionalAdapterTypeOrm, type TypeOrmTransactionOptions } from '@nestjs-cls/transactional-adapter-typeorm';
import { ClsServiceManager } from 'nestjs-cls';
import type { DataSource, EntityManager } from 'typeorm';
import { isConflict } from '../common/errors/database-error';

const logger = new Logger('conflicts');
/** So often something is tried in all. */
const triesMax = 3;
/** Two that met shall not meet again: each waits for its own part of this. */
const pauseMs = 50;

/**
 * Does again what PostgreSQL has aborted for the sake of another transaction: a deadlock, or a
 * serialization failure. Three times in all, with a short pause in between; after that the fault is
 * thrown.
 * @param work one statement, or one whole transaction: nothing of it stays when it is aborted
 */
export async function untilNoConflict<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries === triesMax || !isConflict(error)) throw error;
      logger.warn(`try ${tries} of ${triesMax}: ${(error as Error).message}`);
    }
    await delay(Math.random() * pauseMs * tries);
  }
}

/**
 * The transactions of `@Transactional()`, each done again as `untilNoConflict` says. Only the
 * outermost call of a transaction comes here: calls within it are repeated with it, never by
 * themselves. So whatever is done in one must be possible twice: changes in the database are, and
 * nothing else belongs there.
 */
export function repeatingTransactions(
  dataSourceToken: unknown,
): TransactionalAdapter<DataSource, EntityManager, TypeOrmTransactionOptions> {
  const adapter = new TransactionalAdapterTypeOrm({ dataSourceToken });
  const { optionsFactory } = adapter;
  adapter.optionsFactory = (dataSource) => {
    const options = optionsFactory(dataSource);
    const cls = ClsServiceManager.getClsService();
    return {
      ...options,
      wrapWithTransaction: (settings, unit, setTransaction) =>
        // each in a context of its own: what is left running of an aborted one must not find itself
        // in the next
        untilNoConflict(() =>
          cls.run({ ifNested: 'inherit' }, () => options.wrapWithTransaction(settings, unit, setTransaction)),
        ),
    };
  };
  return adapter;
}
