import { Inject, Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import type { Actor } from '../access/actor';
import type { Permission } from '../access/permissions';
import { AppError, invalid } from '../common/errors/app-error';
import type { RawQuery } from '../common/query/filter';
import { filterSql } from '../common/query/filter.sql';
import { sql, type SqlFragment } from '../common/query/sql';
import { CONFIG, type Config } from '../config/config';
import { IdempotencyService } from '../idempotency/idempotency.service';
import { OperationRunner } from '../operations/operation-runner.service';
import type { OperationResponse } from '../operations/operations.dto';
import { OperationsService } from '../operations/operations.service';
import { type Deed, UserChangesService } from '../users/user-changes.service';
import type { ChangeFoundUsersRequest } from '../users/users.dto';
import { userFilterSql } from '../users/user-list.sql';
import { UsersService, visibleUsers } from '../users/users.service';
import { type Confirmation, ConfirmTokens, type FoundSet } from './confirm-tokens';
import { type FoundRequest, parseFound } from './found-request';
import {
  type BulkPreviewResponse,
  type BulkResultResponse,
  countSkipped,
  toBulkResult,
  toSkipped,
} from './users-bulk.dto';

/**
 * Up to so many users are changed while the caller waits, all or nothing; more are an operation.
 */
const atOnceMax = 10_000;
const foundMax = 5_000_000;
const confirmWithinMs = 600_000;

/**
 * What a change of found users is answered with: its preview, its result, or the operation that
 * goes on.
 */
export type BulkAnswer = BulkPreviewResponse | BulkResultResponse | OperationResponse;

/** A change or deletion of found users. */
interface Asked extends FoundRequest {
  kind: 'change' | 'delete';
  permission: Permission;
  change: ChangeFoundUsersRequest | null;
}

/**
 * Changing and deleting the users that a filter finds: previewed, bound to what was shown, at once
 * or as an operation, and undone.
 */
@Injectable()
export class UsersBulkService {
  private readonly tokens: ConfirmTokens;

  constructor(
    private readonly users: UsersService,
    private readonly changes: UserChangesService,
    private readonly operations: OperationsService,
    private readonly runner: OperationRunner,
    private readonly idempotency: IdempotencyService,
    @Inject(CONFIG) config: Config,
  ) {
    this.tokens = new ConfirmTokens(config.APP_SECRET);
  }

  /**
   * @throws bulk.filter_required, bulk.too_many, bulk.expected_mismatch, bulk.set_changed,
   * request.invalid, access.grant_exceeds_own
   */
  @Transactional()
  async change(actor: Actor, query: RawQuery, request: ChangeFoundUsersRequest): Promise<BulkAnswer> {
    const asked: Asked = { kind: 'change', permission: 'user:update', ...parseFound(query), change: request };
    assertChange(request);
    return this.answer(actor, asked, await this.changes.changeDeed(actor, { ...request }));
  }

  /**
   * @throws bulk.filter_required, bulk.too_many, bulk.expected_mismatch, bulk.set_changed,
   * request.invalid
   */
  @Transactional()
  async delete(actor: Actor, query: RawQuery): Promise<BulkAnswer> {
    const asked: Asked = { kind: 'delete', permission: 'user:delete', ...parseFound(query), change: null };
    return this.answer(actor, asked, await this.changes.deleteDeed(actor));
  }

  /**
   * Restores the users that an operation changed and that have not changed since. Retries users
   * that an earlier undo skipped.
   * @throws operation.not_found, operation.not_undoable
   */
  @Transactional()
  async undo(actor: Actor, operation_id: string): Promise<OperationResponse> {
    const { kind, finished_at } = await this.operations.get(actor, operation_id);
    if (finished_at === null || kind === 'undo' || kind === 'import') throw new AppError('operation.not_undoable');
    const permission = kind === 'delete' ? 'user:delete' : 'user:update';
    const undo = await this.operations.open(actor, {
      kind: 'undo',
      permission,
      request: { undo_of: operation_id, undoes: kind },
      undo_of: operation_id,
    });
    await this.operations.noteUndone(operation_id, undo);
    const remaining = this.changes.leftToUndo(operation_id, await this.operations.undosOf(operation_id));
    const { count } = await this.operations.addUsers(undo, remaining);
    return this.start(actor, undo, count);
  }

  private async answer(actor: Actor, asked: Asked, deed: Deed): Promise<BulkAnswer> {
    const condition: SqlFragment = sql`users.deleted_at is null and ${visibleUsers(actor)} and ${filterSql(asked.conditions, userFilterSql)}`;
    return asked.dry_run ? this.preview(actor, asked, condition, deed) : this.carryOut(actor, asked, condition);
  }

  private async preview(actor: Actor, asked: Asked, condition: SqlFragment, deed: Deed): Promise<BulkPreviewResponse> {
    const confirm_id = this.tokens.newSeed();
    const { matched, unchanged, would_change, sample_ids, skipped, skipped_reasons, digest, seen_at } =
      await this.changes.preview(actor, condition, deed, confirm_id);
    assertExpected(asked, matched);
    const expires_at = seen_at.getTime() + confirmWithinMs;
    return {
      ...{ matched, would_change, unchanged, ...countSkipped(skipped_reasons), skipped: skipped.map(toSkipped) },
      sample: await this.users.sample(sample_ids),
      confirm_token: this.tokens.mint({ confirm_id, expires_at, count: matched, digest }, { actor, ...asked }),
      expires_at: new Date(expires_at),
    };
  }

  /**
   * The users are fixed first; what is changed afterwards, in this transaction or in many, is them
   * and nobody else.
   */
  private async carryOut(
    actor: Actor,
    asked: Asked,
    condition: SqlFragment,
  ): Promise<BulkResultResponse | OperationResponse> {
    const { kind, permission, filters, change, confirm_token } = asked;
    const confirmed = confirm_token === null ? null : this.tokens.read(confirm_token, { actor, ...asked });
    const confirm_id = confirmed?.confirm_id ?? null;
    const request = { filters, ...(change === null ? {} : { change: { ...change } }) };
    const operation_id = await this.operations.open(actor, { kind, permission, request, confirm_id });
    const found = sql`select users.user_id from users where ${condition}`;
    const fixed = await this.operations.addUsers(operation_id, found, confirm_id ?? operation_id);
    if (confirmed !== null) assertConfirmed(confirmed, fixed);
    assertExpected(asked, fixed.count);
    if (fixed.count > foundMax) throw new AppError('bulk.too_many');
    const operation = await this.start(actor, operation_id, fixed.count);
    const [status, answer] = operation.finished_at === null ? [202, operation] : [200, toBulkResult(operation)];
    await this.idempotency.keep(status, answer);
    return answer;
  }

  private async start(actor: Actor, operation_id: string, count: number): Promise<OperationResponse> {
    if (count > atOnceMax) return this.operations.accept(actor, operation_id);
    await this.operations.assertAlone(operation_id);
    await this.operations.begin(actor, operation_id);
    await this.runner.finish(operation_id);
    // one that was accepted meanwhile may have done some of them before and others after; from here
    // on it waits for their locks
    await this.operations.assertAlone(operation_id, this.changes.changedBy(operation_id));
    return this.operations.get(actor, operation_id);
  }
}

function assertExpected({ expected }: FoundRequest, count: number): void {
  if (expected === null || expected === count) return;
  throw new AppError('bulk.expected_mismatch', { detail: `The filter finds ${count} users, not ${expected}.` });
}

function assertConfirmed(confirmed: Confirmation, fixed: FoundSet & { fixed_at: Date }): void {
  const same = confirmed.count === fixed.count && confirmed.digest === fixed.digest;
  if (!same || confirmed.expires_at <= fixed.fixed_at.getTime()) throw new AppError('bulk.set_changed');
}

function assertChange(request: ChangeFoundUsersRequest): void {
  if (Object.keys(request).length === 0)
    throw invalid({ pointer: '', code: 'field.required', detail: 'names no field to change' });
  const { roles, roles_add, roles_remove } = request;
  if (roles !== undefined && (roles_add !== undefined || roles_remove !== undefined))
    throw invalid({ pointer: '/roles', code: 'field.not_allowed', detail: 'cannot go with roles_add or roles_remove' });
  const both = roles_remove?.find((role) => roles_add?.includes(role));
  if (both !== undefined)
    throw invalid({
      pointer: '/roles_remove',
      code: 'field.not_allowed',
      detail: `has ${both}, which roles_add has too`,
    });
}
