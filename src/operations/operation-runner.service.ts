import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { currentTime } from '../common/clock';
import { AppError } from '../common/errors/app-error';
import { fromDatabaseError } from '../common/errors/database-error';
import { errorKind } from '../common/errors/error-codes';
import { JobsService } from '../jobs/jobs.service';
import type { OperationKind } from './operation.entity';
import { kindsOf, type Lane, laneOf, operationJob, undoDays } from './operation-lanes';
import { type BatchOutcome, type OperationRecord, OperationsRepository } from './operations.repository';

export type { BatchOutcome, OperationRecord } from './operations.repository';

/**
 * Knows what an operation does to one batch. It must not depend on anything that a crash between
 * two batches would lose.
 */
export interface OperationHandler {
  /** what takes long and needs no transaction, such as hashing; runs before `run` */
  prepare?(operation: OperationRecord, number: number): Promise<unknown>;
  /** how many of those that are left out are kept by name; 100 unless told */
  skipped_kept?: number;
  /**
   * does one batch, in the transaction that also counts and removes it; may come twice with the
   * same `prepared`, which it leaves as it is. @throws AppError to end the operation as failed
   */
  run(operation: OperationRecord, number: number, prepared: unknown): Promise<BatchOutcome>;
}

type Step = 'worked' | 'ended' | 'busy';

/**
 * A job works this long before it makes room for others and is enqueued again; far below the five
 * minutes after which jobs count as abandoned.
 */
const sliceMs = 20_000;
const sweepMs = 5_000;
/**
 * An accepted operation that nobody has moved for so long belonged to a process that was killed.
 */
const stalledAfterSeconds = 5;
/** An upload that has stopped for so long will not come back. */
const abandonedAfterSeconds = 600;
const skippedKept = 100;

/**
 * Works off operations batch by batch, each in one transaction with its progress. Any number of
 * instances may try at once, and any may be killed at any moment: whoever holds the operation's row
 * does its next batch, and a batch is removed by the transaction that does it.
 */
@Injectable()
export class OperationRunner implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(OperationRunner.name);
  private readonly handlers = new Map<OperationKind, OperationHandler>();
  private sweeper: NodeJS.Timeout | undefined;
  private stopping = false;

  constructor(
    private readonly operations: OperationsRepository,
    private readonly jobs: JobsService,
  ) {}

  /** Says who does the operations of a kind. Called by modules when they start. */
  handle(kind: OperationKind, handler: OperationHandler): void {
    this.handlers.set(kind, handler);
  }

  onModuleInit(): void {
    this.jobs.handle(operationJob, ({ lane }) => this.work(lane as Lane));
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.sweep(0);
    this.sweeper = setInterval(() => void this.sweep(stalledAfterSeconds), sweepMs).unref();
  }

  onModuleDestroy(): void {
    this.stopping = true;
    clearInterval(this.sweeper);
  }

  /**
   * Works an operation off to its end, here and now: in the current transaction if there is one,
   * else in one for each batch, in turn with a job that is at it too.
   */
  async finish(operation_id: string): Promise<void> {
    while ((await this.step(operation_id, 'wait')) === 'worked');
  }

  /**
   * Has what was accepted behind an operation of this kind worked off: the job for it may have
   * found this one in the way, and left.
   */
  async passOn(kind: OperationKind): Promise<void> {
    if ((await this.operations.findOldest(kindsOf(laneOf(kind)))) !== null) await this.enqueue(laneOf(kind));
  }

  /**
   * The job: the operations of a lane, the oldest first, until none is left or others want their
   * turn.
   */
  private async work(lane: Lane): Promise<void> {
    const until = currentTime().getTime() + sliceMs;
    for (;;) {
      const operation_id = await this.operations.findOldest(kindsOf(lane));
      if (operation_id === null) return;
      const step = await this.stepSafely(operation_id);
      if (step === 'busy') return;
      if (step === 'ended') await this.operations.analyze();
      if (!this.stopping && currentTime().getTime() < until) continue;
      await this.enqueue(lane);
      return;
    }
  }

  /**
   * A fault that will pass is thrown, and the job tried again; any other one ends the operation.
   */
  private async stepSafely(operation_id: string): Promise<Step> {
    try {
      return await this.step(operation_id, 'skip');
    } catch (error) {
      const fault = error instanceof AppError ? error : fromDatabaseError(error);
      // 409: somebody took a name in the same moment; the next try sees it and leaves that user out
      if (fault !== null && [409, 503].includes(errorKind(fault.code).status)) throw error;
      if (fault === null) this.logger.error(error);
      await this.fail(operation_id, fault?.code ?? 'service.internal_error');
      return 'ended';
    }
  }

  /**
   * In one transaction: nobody ever sees a failed operation whose batches, and the hashes in them,
   * are still there.
   */
  @Transactional()
  private async fail(operation_id: string, error_code: string): Promise<void> {
    await this.operations.finish(operation_id, 'failed', undoDays, error_code);
  }

  private async step(operation_id: string, others: 'skip' | 'wait'): Promise<Step> {
    const number = await this.operations.nextBatch(operation_id);
    const operation = number === null ? null : await this.operations.get(operation_id);
    const handler = operation === null ? undefined : this.handlers.get(operation.kind);
    const prepared = operation === null || number === null ? undefined : await handler?.prepare?.(operation, number);
    return this.doBatch(operation_id, others, number, prepared);
  }

  @Transactional()
  private async doBatch(
    operation_id: string,
    others: 'skip' | 'wait',
    prepared_number: number | null,
    prepared: unknown,
  ): Promise<Step> {
    const operation = await this.operations.lock(operation_id, others);
    if (operation === null) return 'busy';
    if (operation.finished_at !== null) return 'ended';
    const number = await this.operations.nextBatch(operation_id);
    if (number === null) {
      await this.operations.finish(operation_id, 'done', undoDays, null);
      return 'ended';
    }
    // another process has done the batch meanwhile: what was prepared is of no use
    if (number !== prepared_number) return 'worked';
    const handler = this.handlers.get(operation.kind);
    if (handler === undefined) throw new Error(`nobody does operations of kind ${operation.kind}`);
    await this.operations.finishBatch(
      operation_id,
      number,
      await handler.run(operation, number, prepared),
      handler.skipped_kept ?? skippedKept,
    );
    return 'worked';
  }

  private async sweep(stalledSeconds: number): Promise<void> {
    try {
      const kinds = await this.operations.findStalled(stalledSeconds);
      for (const lane of new Set(kinds.map(laneOf))) await this.enqueue(lane);
      await this.operations.removeAbandoned(abandonedAfterSeconds);
    } catch (error) {
      this.logger.warn(`operations: ${String(error)}`);
    }
  }

  private async enqueue(lane: Lane): Promise<void> {
    await this.jobs.enqueue(operationJob, { lane }, `${operationJob}:${lane}`);
  }
}
