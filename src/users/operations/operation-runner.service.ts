import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { currentTime } from '../../platform/clock';
import { Admission } from '../../access/admission';
import { AppError } from '../../http/errors/app-error';
import { runsJobs } from '../../platform/instance';
import { fromDatabaseError, isTimeLimit } from '../../http/errors/database-error';
import { errorKind } from '../../http/errors/error-codes';
import { JobsService } from '../../platform/jobs/jobs.service';
import type { OperationBatchEntity, OperationKind } from './operation.entity';
import { OperationBatchesRepository } from './operation-batches.repository';
import { halvedMin, lanes, operationJob, skippedLimits, turnPatienceMs, turnsMax } from './operation-queues';
import { type BatchOutcome, type OperationRecord, OperationsRepository } from './operations.repository';
import { MetricsService } from '../../platform/metrics/metrics.service';
import { showUnfinished, unfinishedGauges } from './operations.metrics';
import { SkippedRowsRepository } from './skipped-rows.repository';

/**
 * Carries out the batches of one kind of operation. Keeps no state between two batches, because a
 * crash would lose the state.
 */
export interface OperationHandler {
  /** does slow work that needs no transaction, such as hashing; runs before `run` */
  prepare?(operation: OperationRecord, batch: OperationBatchEntity): Promise<unknown>;
  /**
   * carries out one batch in the transaction that also counts and removes the batch; may run twice
   * with the same `prepared`, so it must not modify `prepared`. @throws AppError to fail the
   * operation
   */
  run(operation: OperationRecord, batch: OperationBatchEntity, prepared: unknown): Promise<BatchOutcome>;
  /** called once the transaction of a batch has committed; counts its rows for the metrics */
  committed?(outcome: BatchOutcome): void;
}

/** `passed`: another process has the batch, or an earlier operation must change its users first. */
type Step = 'worked' | 'ended' | 'passed';

/**
 * Time after which a job yields to other jobs and is enqueued again; far below the five minutes
 * after which a job is considered hung.
 */
const sliceMs = 20_000;
const sweepMs = 5_000;
/**
 * Jobs are enqueued for an accepted operation without progress for this time: a process was killed
 * or failed, or the running jobs ended without seeing the operation.
 */
const stalledAfterSeconds = 5;
/** An upload without progress for this time will not continue. */
const abandonedAfterSeconds = 600;

/**
 * Runs operations batch by batch, each batch in one transaction with its progress. Any number of
 * instances may run operations, and each may be killed at any time: the instance that locks the row
 * of the operation does the next batch, and the transaction of the batch also removes it.
 */
@Injectable()
export class OperationRunner implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(OperationRunner.name);
  private readonly handlers = new Map<OperationKind, OperationHandler>();
  private sweeper: NodeJS.Timeout | undefined;
  private stopping = false;
  /** operations whose batch this process prepares or runs */
  private readonly underWay = new Set<string>();
  private turns = 0;

  constructor(
    private readonly operations: OperationsRepository,
    private readonly batches: OperationBatchesRepository,
    private readonly skippedRows: SkippedRowsRepository,
    private readonly jobs: JobsService,
    private readonly admission: Admission,
    metrics: MetricsService,
  ) {
    metrics.sample(unfinishedGauges, () => this.batches.countUnfinished(), showUnfinished);
  }

  /** Registers the handler of a kind of operation. Modules call it when they start. */
  handle(kind: OperationKind, handler: OperationHandler): void {
    this.handlers.set(kind, handler);
  }

  onModuleInit(): void {
    // `lane` is the name in stored jobs, which all releases read.
    this.jobs.handle(operationJob, ({ lane }) => this.work(String(lane)));
  }

  async onApplicationBootstrap(): Promise<void> {
    if (!runsJobs) return;
    await this.sweep(0);
    this.sweeper = setInterval(() => void this.sweep(stalledAfterSeconds), sweepMs).unref();
  }

  onModuleDestroy(): void {
    this.stopping = true;
    clearInterval(this.sweeper);
  }

  /**
   * Runs an operation to its end, with one transaction per batch. A job may run batches of the same
   * operation in between.
   */
  async finish(operation_id: string): Promise<void> {
    while ((await this.step(operation_id, await this.batches.findNext(operation_id), 'wait')) === 'worked');
  }

  /** The handler of the job. */
  private async work(lane: string): Promise<void> {
    if (this.turns >= Math.min(turnsMax, Math.max(1, this.admission.limits.placesMax - 1))) return;
    this.turns++;
    await this.takeTurns(lane).finally(() => this.turns--);
  }

  /**
   * Runs a batch of each actor in turn until no operation is left or the time is up. An operation
   * with a temporary error is passed over.
   */
  private async takeTurns(lane: string): Promise<void> {
    const until = currentTime().getTime() + sliceMs;
    const passed = new Set<string>();
    while (!this.stopping && currentTime().getTime() < until) {
      const operation_id = await this.batches.findTurn([...passed], [...this.underWay]);
      if (operation_id === null) return;
      const step = await this.stepSafely(operation_id);
      if (step === 'passed') passed.add(operation_id);
      if (step === 'ended') passed.clear();
    }
    await this.enqueue(lane);
  }

  /**
   * Halves a batch that exceeded the time limit. Ends the turn of an actor without a free place.
   * Passes over an operation with a temporary error. Any other error fails the operation.
   */
  private async stepSafely(operation_id: string): Promise<Step> {
    let batch: OperationBatchEntity | null = null;
    this.underWay.add(operation_id);
    try {
      batch = await this.batches.findNext(operation_id);
      return await this.step(operation_id, batch, 'skip');
    } catch (error) {
      if (batch !== null && isTimeLimit(error)) return await this.halve(batch);
      const fault = error instanceof AppError ? error : fromDatabaseError(error);
      if (fault?.code === 'request.rate_limited') {
        await this.batches.endTurn(operation_id);
        return 'worked';
      }
      // 409: a concurrent request took a name. The retry sees it and skips the user.
      if (fault !== null && [409, 503].includes(errorKind(fault.code).status)) {
        this.logger.warn(`operation ${operation_id} is retried: ${fault.code}`);
        return 'passed';
      }
      if (fault === null) this.logger.error(error);
      await this.fail(operation_id, fault?.code ?? 'service.internal_error');
      return 'ended';
    } finally {
      this.underWay.delete(operation_id);
    }
  }

  /** Halves a batch. Fails the operation if the batch is too small and still not done (B31). */
  @Transactional()
  private async halve({ operation_id, number }: OperationBatchEntity): Promise<Step> {
    if ((await this.operations.lock(operation_id, 'skip')) === null) return 'passed';
    // Another process may have halved the batch, which keeps its number.
    const batch = await this.batches.findNext(operation_id);
    if (batch?.number !== number) return 'passed';
    if (await this.batches.halve(batch, halvedMin)) return 'worked';
    await this.operations.finish(operation_id, 'failed', 'operation.too_slow');
    return 'ended';
  }

  /** Fails an operation and removes its batches, which may contain hashes, in one transaction. */
  @Transactional()
  private async fail(operation_id: string, error_code: string): Promise<void> {
    await this.operations.finish(operation_id, 'failed', error_code);
  }

  private async step(operation_id: string, batch: OperationBatchEntity | null, others: 'skip' | 'wait'): Promise<Step> {
    const operation = batch === null ? null : await this.operations.find(operation_id, null);
    const handler = operation === null ? undefined : this.handlers.get(operation.kind);
    const prepared = operation === null || batch === null ? undefined : await handler?.prepare?.(operation, batch);
    const owner = await this.batches.findOwner(operation_id);
    if (owner === null) return 'ended';
    const run = async () => {
      const done = await this.runBatch(operation_id, others, batch?.number, prepared);
      if (done.step === 'ended' && others === 'skip') await this.batches.analyze();
      return done;
    };
    const patienceMs = others === 'skip' ? turnPatienceMs : undefined;
    const { step, outcome } = await this.admission.run(owner, run, undefined, patienceMs);
    if (outcome !== undefined) handler?.committed?.(outcome);
    return step;
  }

  @Transactional()
  private async runBatch(
    operation_id: string,
    others: 'skip' | 'wait',
    prepared_number: number | undefined,
    prepared: unknown,
  ): Promise<{ step: Step; outcome?: BatchOutcome }> {
    const operation = await this.operations.lock(operation_id, others);
    if (operation === null) return { step: 'passed' };
    if (operation.finished_at !== null) return { step: 'ended' };
    const batch = await this.batches.findNext(operation_id);
    if (batch === null) {
      await this.operations.finish(operation_id, 'done', null);
      return { step: 'ended' };
    }
    // Another process has finished the prepared batch in the meantime, and may prepare the next.
    if (batch.number !== prepared_number) return { step: others === 'wait' ? 'worked' : 'passed' };
    // An operation that was accepted earlier must change these users first.
    if (await this.batches.overlaps(operation_id, batch.user_ids ?? [], operation.created_at))
      return { step: 'passed' };
    const handler = this.handlers.get(operation.kind);
    if (handler === undefined) throw new Error(`no handler for operations of kind ${operation.kind}`);
    const outcome = await handler.run(operation, batch, prepared);
    await this.operations.addOutcome(operation_id, outcome);
    await this.batches.remove(batch);
    const { skipped_rows = [] } = outcome;
    // `skipped_count` is the count before this batch, because the operation is locked.
    if (skipped_rows.length > 0 && operation.skipped_count < skippedLimits.rows)
      await this.skippedRows.add(operation_id, skipped_rows);
    return { step: 'worked', outcome };
  }

  private async sweep(stalledSeconds: number): Promise<void> {
    try {
      if (await this.batches.hasStalled(stalledSeconds)) for (const lane of lanes) await this.enqueue(lane);
      await this.batches.removeAbandoned(abandonedAfterSeconds);
    } catch (error) {
      this.logger.warn(`operations: ${String(error)}`);
    }
  }

  private async enqueue(lane: string): Promise<void> {
    await this.jobs.enqueue(operationJob, { lane }, `${operationJob}:${lane}`);
  }
}
