import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { Admission, workOwnerOf } from '../../access/admission';
import type { Actor } from '../../access/actor';
import { holds, missingPermission, type Permission } from '../../access/permissions';
import { currentTime } from '../../platform/clock';
import { AppError } from '../../http/errors/app-error';
import { limitReached } from '../../http/errors/limit-reached';
import type { ListQuery } from '../../http/lists/list-query';
import { newId } from '../../platform/random';
import { EventsService } from '../../audit/events.service';
import { JobsService } from '../../platform/jobs/jobs.service';
import { OperationBatchesRepository } from './operation-batches.repository';
import type { OperationReader } from './operations.sql';
import { lanes, operationJob, skippedDays, unfinishedMax } from './operation-queues';
import type { OperationKind } from './operation.entity';
import {
  type OperationListResponse,
  type OperationResponse,
  type SkippedRowListResponse,
  toOperationResponse,
  toSkippedRowResponse,
} from './operations.dto';
import { type BatchOutcome, type OperationTimes, OperationsRepository } from './operations.repository';
import { SkippedRowsRepository } from './skipped-rows.repository';

const permissions: Permission[] = ['user:update', 'user:delete', 'user:import'];

/** A request for work on many users. */
export interface OperationRequest {
  kind: OperationKind;
  /** needed to request, see, cancel and undo the operation */
  permission: Permission;
  /** filters and change, or options; shown to everyone who sees the operation */
  request: Record<string, unknown>;
  /** the preview that is confirmed */
  confirm_id?: string | null;
  /** the operation that is undone */
  undo_of?: string | null;
  /** whether its rows are still being uploaded; the runner then waits for `accept` */
  receiving?: boolean;
}

/** The parts of an operation that its event contains. */
type AcceptedOperation = Pick<OperationResponse, 'operation_id' | 'kind' | 'matched' | 'request'>;

/**
 * Manages the records of work on many users. The feature that requests the work opens an operation.
 * A small operation runs and completes in the transaction of the request. The runner carries out
 * all others once they are accepted.
 */
@Injectable()
export class OperationsService {
  constructor(
    private readonly operations: OperationsRepository,
    private readonly batches: OperationBatchesRepository,
    private readonly skippedRows: SkippedRowsRepository,
    private readonly events: EventsService,
    private readonly jobs: JobsService,
    private readonly admission: Admission,
  ) {}

  /** Opens an operation whose rows are uploaded. @throws request.rate_limited */
  openUpload(actor: Actor, request: OperationRequest): Promise<string> {
    return this.admission.run(workOwnerOf(actor), () => this.open(actor, { ...request, receiving: true }));
  }

  /** Opens an operation and returns its id. */
  @Transactional()
  async open(
    actor: Actor,
    { kind, permission, request, confirm_id = null, undo_of = null, receiving = false }: OperationRequest,
  ): Promise<string> {
    const operation_id = newId();
    const { actor_type, user_id: actor_id, session_id, ip, request_id } = actor;
    if (actor_type === 'system') throw new Error('the system actor cannot open an operation');
    // An upload stores up to 4 GiB of rows.
    if (receiving) await this.assertFew(actor, 'import', 0);
    const status = receiving ? 'receiving' : 'waiting';
    const origin = { actor_type, actor_id, session_id, ip, request_id };
    await this.operations.insert({ operation_id, kind, permission, status, ...origin, request, confirm_id, undo_of });
    return operation_id;
  }

  /**
   * Rejects an operation if another operation still has to process one of these users.
   * @throws operation.overlaps
   */
  async assertNoOverlap(operation_id: string, user_ids: string[]): Promise<void> {
    if (user_ids.length > 0 && (await this.batches.overlaps(operation_id, user_ids)))
      throw new AppError('operation.overlaps');
  }

  /**
   * Stores rows of a file as batch `number`. Returns false if the operation was canceled.
   * @throws request.rate_limited
   */
  addRows(actor: Actor, operation_id: string, number: number, rows: unknown[]): Promise<boolean> {
    return this.admission.run(workOwnerOf(actor), () => this.batches.addRows(operation_id, number, rows));
  }

  /** Removes an operation whose file is incomplete or cannot be read. */
  async discard(actor: Actor, operation_id: string): Promise<void> {
    await this.admission.run(workOwnerOf(actor), () => this.operations.remove(operation_id));
  }

  /**
   * Hands an operation over to the runner of any instance, which starts once the transaction has
   * committed.
   * @param total number of users, or null if the rows were counted during the upload
   * @throws request.rate_limited
   */
  @Transactional()
  async accept(actor: Actor, operation_id: string, total: number | null = null): Promise<OperationResponse> {
    const operation = await this.begin(actor, operation_id, total);
    if (total !== null) await this.assertFew(actor, 'change', 1);
    await this.startRunner();
    return operation;
  }

  /**
   * Accepts an operation that the caller runs to its end. If the process of the caller dies, the
   * runner takes over. Does nothing if the operation was canceled before.
   */
  @Transactional()
  async begin(actor: Actor, operation_id: string, total: number | null = null): Promise<OperationResponse> {
    await this.operations.accept(operation_id, total);
    const operation = await this.get(actor, operation_id);
    if (operation.finished_at === null) await this.recordAccepted(actor, operation);
    return operation;
  }

  /**
   * Records that an operation was accepted: its kind, the number of users and the filtered fields.
   * The values of filters may be personal, so the audit log does not contain them.
   */
  async recordAccepted(actor: Actor, { operation_id, kind, matched, request }: AcceptedOperation): Promise<void> {
    const filters = Object.keys(request['filters'] ?? {});
    const changes = { kind: { after: kind }, matched: { after: matched }, filters: { after: filters } };
    const target = { id: operation_id, operation_id };
    await this.events.record(actor, 'operation.accepted', target, changes);
  }

  /** Ends an operation that the current transaction has carried out. */
  async complete(operation_id: string, outcome: BatchOutcome): Promise<OperationResponse> {
    const operation = await this.operations.complete(operation_id, outcome);
    if (operation.kind === 'undo') await this.operations.reopenUndone(operation_id);
    return toOperationResponse(operation);
  }

  /** Returns one operation. @throws access.denied, operation.not_found */
  async get(actor: Actor, operation_id: string): Promise<OperationResponse> {
    const operation = await this.operations.find(operation_id, readerOf(actor));
    if (operation === null) throw new AppError('operation.not_found');
    return toOperationResponse(operation);
  }

  /**
   * Checks that the actor may see the skipped rows of an operation, and that the rows are kept.
   * @param needed permission to see rows of other actors, because the rows contain personal values
   * @throws access.denied, operation.not_found
   */
  async assertSkippedKept(actor: Actor, operation_id: string, needed: 'user:read' | 'user:export'): Promise<void> {
    const { kind, actor_type, actor_id, skipped_until } = await this.get(actor, operation_id);
    const isOwn = actor_type === actor.actor_type && actor_id === actor.user_id;
    if (!isOwn && !holds(actor.permissions, needed)) throw new AppError('operation.not_found');
    if (kind !== 'import')
      throw new AppError('operation.not_found', {
        detail: 'The operation is not an import. Its first 100 skipped users are in `skipped`.',
      });
    if (skipped_until !== null && skipped_until <= currentTime())
      throw new AppError('operation.not_found', {
        detail: `The skipped rows were removed ${skippedDays} days after the end of the import.`,
      });
  }

  /**
   * Returns one page of the rows that an import skipped, in the order of the file.
   * @throws access.denied, operation.not_found
   */
  async listSkipped(actor: Actor, operation_id: string, query: ListQuery): Promise<SkippedRowListResponse> {
    await this.assertSkippedKept(actor, operation_id, 'user:read');
    const page = await this.skippedRows.list(operation_id, query);
    return { ...page, items: page.items.map(toSkippedRowResponse) };
  }

  /** Returns one page of the operations that the actor sees. @throws access.denied */
  async list(actor: Actor, query: ListQuery): Promise<OperationListResponse> {
    const page = await this.operations.list(readerOf(actor), query);
    return { ...page, items: page.items.map(toOperationResponse) };
  }

  /**
   * Cancels an operation before its next batch. Finished batches stay in effect. Does nothing if
   * the operation has ended.
   * @throws access.denied, operation.not_found
   */
  @Transactional()
  async cancel(actor: Actor, operation_id: string): Promise<OperationResponse> {
    await this.get(actor, operation_id);
    const operation = await this.operations.lock(operation_id, 'wait');
    if (operation?.finished_at === null) {
      await this.operations.finish(operation_id, 'canceled', null);
      await this.events.record(actor, 'operation.canceled', { id: operation_id, operation_id });
      await this.startRunner();
    }
    return this.get(actor, operation_id);
  }

  /**
   * Records that another operation undoes this operation.
   * @throws operation.not_undoable
   */
  async noteUndone(operation_id: string, undone_by: string): Promise<void> {
    if (!(await this.operations.noteUndone(operation_id, undone_by))) throw new AppError('operation.not_undoable');
  }

  /** Returns the ids of all undos of an operation. Each of them may have restored some users. */
  undosOf(operation_id: string): Promise<string[]> {
    return this.operations.undosOf(operation_id);
  }

  /**
   * Returns the beginning and the end of an operation, which limit the search for its events.
   * @throws operation.not_undoable if the operation is gone or unfinished
   */
  async timesOf(operation_id: string): Promise<OperationTimes> {
    const times = await this.operations.findTimes(operation_id);
    if (times === null) throw new AppError('operation.not_undoable');
    return times;
  }

  private async assertFew(actor: Actor, kind: 'import' | 'change', own: number): Promise<void> {
    const max = unfinishedMax[kind];
    if ((await this.batches.countOf(workOwnerOf(actor), kind === 'import')) - own < max) return;
    const detail = `Your user or carrier already has ${max} unfinished operations of this kind. Wait until one ends.`;
    throw limitReached({ name: 'unfinished-operations', max, detail }, 30);
  }

  /** Enqueues the jobs that run operations: running jobs may end before the transaction commits. */
  private async startRunner(): Promise<void> {
    for (const lane of lanes) await this.jobs.enqueue(operationJob, { lane }, `${operationJob}:${lane}`);
  }

  /** Removes values of purged users from the filters of operations. */
  async eraseValues(fields: readonly string[], values: (string | null)[]): Promise<void> {
    await this.operations.eraseValues(fields, values.filter((value) => value !== null && value !== '') as string[]);
  }

  /** Removes the cells of skipped rows with an id, name, address or phone of a purged user. */
  async eraseRows(identities: (string | null)[]): Promise<void> {
    await this.skippedRows.erase(identities.flatMap((identity) => identity?.toLowerCase() ?? []));
  }
}

/** Limits an actor to operations that the actor may still request. @throws access.denied */
export function readerOf(actor: Actor): OperationReader {
  const reader = operationReader(actor);
  if (reader.permissions.length === 0) throw missingPermission('user:update');
  return reader;
}

/** Returns an actor as a reader of operations. Without a permission, the reader sees none. */
export function operationReader(actor: Actor): OperationReader {
  return { scope: actor, permissions: permissions.filter((permission) => holds(actor.permissions, permission)) };
}
