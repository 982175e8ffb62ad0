import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Actor } from '../../access/actor';
import { assertHolds } from '../../access/permissions';
import { FactorChangesService } from '../../auth/second-factors/factor-changes.service';
import { RememberedActorsService } from '../../auth/tokens/remembered-actors.service';
import { OperationRunner } from '../operations/operation-runner.service';
import type { OperationKind } from '../operations/operation.entity';
import type { BatchOutcome, OperationRecord, OperationTimes } from '../operations/operations.repository';
import { OperationsService } from '../operations/operations.service';
import { listedMax } from '../operations/operation-queues';
import { ConflictLimitService } from '../../access/rate-limits/conflict-limit.service';
import { UserChangesService } from '../changes/user-changes.service';
import type { CheckedAction, UserAction } from '../changes/user-change';
import { countSkipped } from './users-bulk.dto';

const rateLimited = 'request.rate_limited' as const;

/** The result of a bulk change, with the users that it changed. */
export interface BulkOutcome extends BatchOutcome {
  changed_ids: string[];
}

/**
 * Applies bulk changes: a small one at once, a large one batch by batch. Permission, scope and
 * rules are those at the time of each batch.
 */
@Injectable()
export class BulkChangesService implements OnModuleInit {
  constructor(
    private readonly runner: OperationRunner,
    private readonly operations: OperationsService,
    private readonly actors: RememberedActorsService,
    private readonly changes: UserChangesService,
    private readonly conflicts: ConflictLimitService,
    private readonly factors: FactorChangesService,
  ) {}

  onModuleInit(): void {
    for (const kind of ['change', 'delete', 'undo'] as const)
      this.runner.handle(kind, { run: (operation, { user_ids }) => this.runBatch(operation, user_ids ?? []) });
  }

  private async runBatch(operation: OperationRecord, user_ids: string[]): Promise<BatchOutcome> {
    const actor = await this.actors.of(operation);
    const checked = await this.changes.check(actor, await this.actionOf(actor, operation));
    return this.apply(actor, checked, user_ids, operation.operation_id);
  }

  private async actionOf(actor: Actor, { kind, request, undo_of }: OperationRecord): Promise<UserAction> {
    if (kind === 'change') return { kind, change: request['change'] as object };
    if (kind === 'delete') return { kind };
    const operation_id = undo_of ?? '';
    const times = await this.operations.timesOf(operation_id);
    return undoOf(actor, request['undoes'] as OperationKind, operation_id, times);
  }

  /** Applies an action to the users of an operation, in the current transaction. */
  async apply(actor: Actor, checked: CheckedAction, user_ids: string[], operation_id: string): Promise<BulkOutcome> {
    const limited = new Set(await this.limitedOf(actor, checked, user_ids));
    const open = limited.size === 0 ? user_ids : user_ids.filter((id) => !limited.has(id));
    const applied = await this.changes.apply(actor, checked, open, operation_id);
    const { unchanged, changed_ids, reset_ids, with_factors, with_keys, links } = applied;
    if (reset_ids.length > 0) await this.factors.removeAll(actor, reset_ids, operation_id);
    const changed = changed_ids.length;
    const reasons: Record<string, number> = limited.size === 0 ? {} : { [rateLimited]: limited.size };
    const counts = countSkipped({ ...applied.skipped_reasons, ...reasons });
    const processed = changed + unchanged + counts.skipped_count;
    const skipped = [...applied.skipped, ...[...limited].map((user_id) => ({ user_id, reason: rateLimited }))];
    const result = { processed, changed, unchanged, ...counts, counts: { with_factors, with_keys, ...links } };
    return { ...result, skipped: skipped.slice(0, listedMax), changed_ids };
  }

  /**
   * Counts the deleted users whose name or address belongs to a user outside the actor's scope.
   * Returns the user of the first conflict beyond the limit and all users after this user. The undo
   * skips them, so that the actor cannot tell taken names from free names (B25).
   */
  private async limitedOf(actor: Actor, { action }: CheckedAction, user_ids: string[]): Promise<string[]> {
    if (action.kind !== 'undo' || !action.restores) return [];
    if (!(await this.conflicts.isOpen(actor))) return user_ids;
    const hidden = await this.changes.findHiddenConflicts(actor, user_ids);
    const first = hidden[await this.conflicts.count(actor, hidden.length)];
    return first === undefined ? [] : user_ids.filter((id) => id >= first);
  }
}

/**
 * Returns the action that undoes an operation. An import is undone by deleting its users, as long
 * as they are unchanged and have never logged in.
 * @throws access.denied
 */
export function undoOf(actor: Actor, kind: OperationKind, operation_id: string, times: OperationTimes): UserAction {
  if (kind !== 'import') return { kind: 'undo', operation_id, times, restores: kind === 'delete' };
  assertHolds(actor, 'user:import');
  assertHolds(actor, 'user:delete');
  return { kind: 'delete', versions: [1], unused_since: times.began_at };
}
