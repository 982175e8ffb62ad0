import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { FactorChangesService } from '../logins/factors/factor-changes.service';
import { RememberedActorsService } from '../logins/remembered-actors.service';
import { type BatchOutcome, type OperationRecord, OperationRunner } from '../operations/operation-runner.service';
import { OperationsService } from '../operations/operations.service';
import { ConflictLimitService } from '../rate-limits/conflict-limit.service';
import {
  type ActionOutcome,
  type CheckedAction,
  type UserAction,
  UserChangesService,
} from '../users/user-changes.service';
import { countSkipped, toSkipped } from './users-bulk.dto';

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
    const handler = { run: (operation: OperationRecord, number: number) => this.runBatch(operation, number) };
    for (const kind of ['change', 'delete', 'undo'] as const) this.runner.handle(kind, handler);
  }

  private async runBatch(operation: OperationRecord, number: number): Promise<BatchOutcome> {
    const actor = await this.actors.of(operation);
    const checked = await this.changes.check(actor, await this.actionOf(operation));
    const user_ids = await this.operations.userIdsOf(operation.operation_id, number);
    return this.apply(actor, checked, user_ids, operation.operation_id);
  }

  private async actionOf({ kind, request, undo_of }: OperationRecord): Promise<UserAction> {
    if (kind === 'change') return { kind, change: request['change'] as object };
    if (kind === 'delete') return { kind };
    const operation_id = undo_of ?? '';
    const times = await this.operations.timesOf(operation_id);
    return { kind: 'undo', operation_id, times, restores: request['undoes'] === 'delete' };
  }

  /** Applies an action to the users of an operation, in the current transaction. */
  async apply(actor: Actor, checked: CheckedAction, user_ids: string[], operation_id: string): Promise<BulkOutcome> {
    const applied = await this.changes.apply(actor, checked, user_ids, operation_id);
    const { unchanged, changed_ids, reset_ids } = applied;
    if (reset_ids.length > 0) await this.factors.removeAll(actor, reset_ids, operation_id);
    const { skipped, skipped_reasons } = await this.hideConflicts(actor, applied);
    const changed = changed_ids.length;
    const counts = countSkipped(skipped_reasons);
    const processed = changed + unchanged + counts.skipped_count;
    const kept = skipped.map((user) => ({ ...toSkipped(user) }));
    return { processed, changed, unchanged, ...counts, skipped: kept, changed_ids };
  }

  /**
   * Counts the conflicts with names and addresses. If the actor exceeds the limit of conflicts,
   * hides whether the name or the address is taken (B25).
   */
  private async hideConflicts(
    actor: Actor,
    { skipped, skipped_reasons }: ActionOutcome,
  ): Promise<Pick<ActionOutcome, 'skipped' | 'skipped_reasons'>> {
    const { 'user.name_taken': names = 0, 'user.email_taken': emails = 0, ...others } = skipped_reasons;
    const conflicts = names + emails;
    if ((await this.conflicts.count(actor, conflicts)) === conflicts) return { skipped, skipped_reasons };
    const hidden = skipped.map(({ user_id, reason }) => ({
      user_id,
      reason: ['user.name_taken', 'user.email_taken'].includes(reason) ? 'field.conflict' : reason,
    }));
    return { skipped: hidden, skipped_reasons: { ...others, 'field.conflict': conflicts } };
  }
}
