import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { TransactionalAdapter } from '@nestjs-cls/transactional';
import { TransactionalAdapterTypeOrm, type TypeOrmTransactionOptions } from '@nestjs-cls/transactional-adapter-typeorm';
import { ClsServiceManager } from 'nestjs-cls';
import type { DataSource, EntityManager } from 'typeorm';
import { isConflict } from '../../http/errors/database-error';

const logger = new Logger('conflicts');
/** Maximum number of attempts, including the first. */
const attemptsMax = 3;
/** Upper bound of the first back-off. Random, so that two transactions do not collide again. */
const backOffMs = 50;

/**
 * Retries work that PostgreSQL aborted because of a deadlock or a serialization failure.
 * Makes up to three attempts with a short back-off, then throws the last error.
 * @param work one statement or one whole transaction, so that an aborted attempt leaves no changes
 */
export async function untilNoConflict<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === attemptsMax || !isConflict(error)) throw error;
      logger.warn(`attempt ${attempt} of ${attemptsMax} failed: ${(error as Error).message}`);
    }
    await delay(Math.random() * backOffMs * attempt);
  }
}

/**
 * Creates the adapter of `@Transactional()`, which retries transactions with `untilNoConflict`.
 * Retries the outermost call, with all calls inside. The method may therefore run more than once,
 * and must change nothing outside the database (ADR 0011).
 */
export function retryingTransactions(
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
        // A new context per attempt: work left over from an aborted attempt must not use the
        // transaction of the next.
        untilNoConflict(() =>
          cls.run({ ifNested: 'inherit' }, () => options.wrapWithTransaction(settings, unit, setTransaction)),
        ),
    };
  };
  return adapter;
}
