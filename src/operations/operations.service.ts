import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Actor, identityOf } from '../access/actor';
import { holds, type Permission } from '../access/permissions';
import { AppError } from '../common/errors/app-error';
import type { RawQuery } from '../common/query/filter';
import { sql, type SqlFragment } from '../common/query/sql';
import { newId } from '../common/random';
import { EventsService } from '../events/events.service';
import { JobsService } from '../jobs/jobs.service';
import type { OperationKind } from './operation.entity';
import { laneOf, operationJob, undoDays } from './operation-lanes';
import { type OperationListResponse, type OperationResponse, toOperationResponse } from './operations.dto';
import { type FixedSet, OperationsRepository } from './operations.repository';

/**
 * Users of a batch: few enough that nobody waits long for the locks of its transaction, enough that
 * the transaction itself costs little.
 */
const batchSize = 5_000;
const permissions: Permission[] = ['user:update', 'user:delete', 'user:import'];

/** What somebody asks to be done to many. */
export interface OperationRequest {
  kind: OperationKind;
  /** what the caller needs for it, and needs again to see, cancel or undo it */
  permission: Permission;
  /** filters and change, or options; shown to whoever sees the operation */
  request: Record<string, unknown>;
  /** the preview that is confirmed */
  confirm_id?: string | null;
  /** the operation that is undone */
  undo_of?: string | null;
  /** rows are still on their way: it waits for `accept` */
  receiving?: boolean;
}

/**
 * Operations: opened and staged by the feature that knows what they do, followed and canceled here,
 * worked off by the runner.
 */
@Injectable()
export class OperationsService {
  constructor(
    private readonly operations: OperationsRepository,
    private readonly events: EventsService,
    private readonly jobs: JobsService,
  ) {}

  /**
   * Begins an operation; its batches are added next, in the same transaction or one by one while
   * `receiving`. Returns its id.
   */
  async open(
    actor: Actor,
    { kind, permission, request, confirm_id = null, undo_of = null, receiving = false }: OperationRequest,
  ): Promise<string> {
    const operation_id = newId();
    const { actor_type, user_id: actor_id, session_id, ip, request_id } = actor;
    if (actor_type === 'system') throw new Error('the system actor cannot open an operation');
    const status = receiving ? 'receiving' : 'waiting';
    const origin = { actor_type, actor_id, session_id, ip, request_id };
    await this.operations.insert({ operation_id, kind, permission, status, ...origin, request, confirm_id, undo_of });
    return operation_id;
  }

  /** Fixes the users that an operation is about; `found` is a query that gives `user_id`. */
  addUsers(operation_id: string, found: SqlFragment, seed = operation_id): Promise<FixedSet> {
    return this.operations.addUsers(operation_id, found, batchSize, seed);
  }

  /**
   * @param users query that gives `user_id`; without it all that are still before the operation
   * @throws operation.overlaps when another operation has some of these users still before it
   */
  async assertAlone(operation_id: string, users?: SqlFragment): Promise<void> {
    const before = sql`select unnest(user_ids) as user_id from operation_batches where operation_id = ${operation_id}::uuid`;
    if (await this.operations.overlaps(operation_id, users ?? before)) throw new AppError('operation.overlaps');
  }

  /** The ids of a batch as an array, for a condition. */
  idsOf(operation_id: string, number: number): SqlFragment {
    return sql`(select user_ids from operation_batches where operation_id = ${operation_id}::uuid and number = ${number}::integer)`;
  }

  /** Adds rows of a file as batch `number`; false when the operation was canceled meanwhile. */
  @Transactional()
  async addRows(operation_id: string, number: number, rows: unknown[]): Promise<boolean> {
    return this.operations.addRows(operation_id, number, rows);
  }

  /** The rows of a batch. */
  rowsOf(operation_id: string, number: number): Promise<unknown[]> {
    return this.operations.rowsOf(operation_id, number);
  }

  /**
   * Removes an operation that came to nothing: an upload that broke off, a file that cannot be
   * read.
   */
  async discard(operation_id: string): Promise<void> {
    await this.operations.remove(operation_id);
  }

  /**
   * Hands an operation over to the runner, on whichever instance it works. It begins once this
   * transaction has committed.
   */
  @Transactional()
  async accept(actor: Actor, operation_id: string): Promise<OperationResponse> {
    const operation = await this.begin(actor, operation_id);
    await this.jobs.enqueue(
      operationJob,
      { lane: laneOf(operation.kind) },
      `${operationJob}:${laneOf(operation.kind)}`,
    );
    return operation;
  }

  /**
   * An operation that is complete: whoever asked for it works it off themselves, and should their
   * process die, the runner does. The audit log has what was asked for: kind, number and filtered
   * fields; their values may be personal, and stay with the operation. One that was canceled while
   * it was received stays so.
   */
  @Transactional()
  async begin(actor: Actor, operation_id: string): Promise<OperationResponse> {
    await this.operations.accept(operation_id);
    const operation = await this.get(actor, operation_id);
    if (operation.finished_at !== null) return operation;
    const { kind, matched, request } = operation;
    const filters = Object.keys(request['filters'] ?? {});
    const changes = { kind: { after: kind }, matched: { after: matched }, filters: { after: filters } };
    await this.events.record(
      actor,
      'operation.accepted',
      { type: 'operation', id: operation_id, operation_id },
      changes,
    );
    return operation;
  }

  /** One operation. @throws operation.not_found */
  async get(actor: Actor, operation_id: string): Promise<OperationResponse> {
    const operation = await this.operations.find(operation_id, visibleOperations(actor));
    if (operation === null) throw new AppError('operation.not_found');
    const hasMore = operation.finished_at !== null && operation.skipped_count > operation.skipped.length;
    return toOperationResponse(
      hasMore ? { ...operation, skipped: await this.operations.skippedOf(operation_id) } : operation,
    );
  }

  /** One page of the operations that the actor may see. */
  async list(actor: Actor, query: RawQuery): Promise<OperationListResponse> {
    const page = await this.operations.list(visibleOperations(actor), query, identityOf(actor));
    return { ...page, items: page.items.map(toOperationResponse) };
  }

  /**
   * Ends an operation between two batches; what is done stays done. One that has ended stays as it
   * is. @throws operation.not_found
   */
  @Transactional()
  async cancel(actor: Actor, operation_id: string): Promise<OperationResponse> {
    await this.get(actor, operation_id);
    const operation = await this.operations.lock(operation_id, 'wait');
    if (operation?.finished_at === null) {
      await this.operations.finish(operation_id, 'canceled', undoDays, null);
      await this.events.record(actor, 'operation.canceled', { type: 'operation', id: operation_id, operation_id });
    }
    return this.get(actor, operation_id);
  }

  /**
   * Notes that an operation is undone by another. @throws operation.not_undoable when it was
   * before, or never could be
   */
  async noteUndone(operation_id: string, undone_by: string): Promise<void> {
    if (!(await this.operations.noteUndone(operation_id, undone_by))) throw new AppError('operation.not_undoable');
  }

  /** Returns the ids of all undos of an operation. Each of them may have restored some users. */
  undosOf(operation_id: string): Promise<string[]> {
    return this.operations.undosOf(operation_id);
  }

  /** Takes values of persons who are purged out of the filters that were asked for. */
  async eraseValues(values: (string | null)[]): Promise<void> {
    await this.operations.eraseValues(values.filter((value) => value !== null && value !== '') as string[]);
  }
}

/**
 * One's own, for System Users without scope everybody's; and only of the kinds that one may do
 * oneself. @throws access.denied
 */
function visibleOperations(actor: Actor): SqlFragment {
  const held = permissions.filter((permission) => holds(actor.permissions, permission));
  if (held.length === 0) throw new AppError('access.denied');
  const all = actor.user_type === 'system' && actor.carrier_scope === null;
  return sql`operations.permission = any(${held}::text[]) and (${all}::boolean
    or (operations.actor_type = ${actor.actor_type} and operations.actor_id = ${actor.user_id}::uuid))`;
}
