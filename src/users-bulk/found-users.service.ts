import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { sql, type SqlFragment } from '../common/query/sql';
import { type BatchOutcome, OperationRunner, type OperationRecord } from '../operations/operation-runner.service';
import { OperationsService } from '../operations/operations.service';
import { RememberedActorsService } from '../logins/remembered-actors.service';
import { type Deed, type Outcome, UserChangesService } from '../users/user-changes.service';
import { ConflictLimitService } from '../rate-limits/conflict-limit.service';
import { visibleUsers } from '../users/users.service';
import { countSkipped, toSkipped } from './users-bulk.dto';

/**
 * Does to the users of a batch what an operation asks for. Permission, scope and protection count
 * as they are when the batch is done.
 */
@Injectable()
export class FoundUsersService implements OnModuleInit {
  constructor(
    private readonly runner: OperationRunner,
    private readonly operations: OperationsService,
    private readonly actors: RememberedActorsService,
    private readonly changes: UserChangesService,
    private readonly conflicts: ConflictLimitService,
  ) {}

  onModuleInit(): void {
    const handler = { run: (operation: OperationRecord, number: number) => this.run(operation, number) };
    for (const kind of ['change', 'delete', 'undo'] as const) this.runner.handle(kind, handler);
  }

  private async run(operation: OperationRecord, number: number): Promise<BatchOutcome> {
    const actor = await this.actors.of(operation);
    const deed = await this.deedOf(actor, operation);
    const ids = this.operations.idsOf(operation.operation_id, number);
    // an undo looks at versions instead: whom it brings back is deleted
    const condition = sql`${deed.kind === 'undo' ? usersOf(ids) : livingOf(ids)} and ${visibleUsers(actor)}`;
    const wanted = sql`select unnest(${ids}) as user_id`;
    const applied = await this.changes.apply(actor, condition, deed, operation.operation_id, wanted);
    return outcomeOf(await this.hideConflicts(actor, applied), applied.changed_ids.length);
  }

  /**
   * Counts the conflicts with names and addresses. If the actor exceeds the limit of conflicts,
   * hides whether the name or the address is taken (B25).
   */
  private async hideConflicts(actor: Actor, outcome: Outcome): Promise<Outcome> {
    const { skipped, skipped_reasons } = outcome;
    const { 'user.name_taken': names = 0, 'user.email_taken': emails = 0, ...others } = skipped_reasons;
    const conflicts = names + emails;
    if ((await this.conflicts.count(actor, conflicts)) === conflicts) return outcome;
    const hidden = skipped.map(({ user_id, reason }) => ({
      user_id,
      reason: ['user.name_taken', 'user.email_taken'].includes(reason) ? 'field.conflict' : reason,
    }));
    return { ...outcome, skipped: hidden, skipped_reasons: { ...others, 'field.conflict': conflicts } };
  }

  private deedOf(actor: Actor, { kind, request, undo_of }: OperationRecord): Promise<Deed> {
    if (kind === 'change') return this.changes.changeDeed(actor, request['change'] as object);
    if (kind === 'delete') return this.changes.deleteDeed(actor);
    return this.changes.undoDeed(actor, undo_of ?? '', request['undoes'] === 'delete');
  }
}

function usersOf(ids: SqlFragment): SqlFragment {
  return sql`users.user_id = any(${ids}::uuid[])`;
}

/**
 * Those of some users who are not deleted, by their ids. It is not said as the indexes of the
 * living say it: while the statistics know of hardly any, as after everybody was deleted, one of
 * these would be read whole, and each of its users looked for among the ids.
 */
export function livingOf(ids: SqlFragment): SqlFragment {
  return sql`${usersOf(ids)} and num_nulls(users.deleted_at) = 1`;
}

function outcomeOf({ unchanged, skipped_reasons, skipped }: Outcome, changed: number): BatchOutcome {
  const counts = countSkipped(skipped_reasons);
  const processed = changed + unchanged + counts.skipped_count;
  return { processed, changed, unchanged, ...counts, skipped: skipped.map((user) => ({ ...toSkipped(user) })) };
}
