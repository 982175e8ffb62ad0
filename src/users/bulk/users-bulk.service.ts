import { Inject, Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import type { Actor } from '../../access/actor';
import { assertFresh } from '../../access/fresh';
import { AppError, invalid } from '../../http/errors/app-error';
import { CONFIG, type Config } from '../../platform/config/config';
import { newId } from '../../platform/random';
import { ConflictLimitService } from '../../access/rate-limits/conflict-limit.service';
import { IdempotencyService } from '../../http/idempotency/idempotency.service';
import type { OperationResponse } from '../operations/operations.dto';
import { type OperationRequest, OperationsService } from '../operations/operations.service';
import { UserChangesService } from '../changes/user-changes.service';
import { type CheckedAction, needsFreshAuthentication } from '../changes/user-change';
import type { ChangeFoundUsersRequest } from '../users.dto';
import { BulkChangesService, undoOf } from './bulk-changes.service';
import type { BulkQuery } from './bulk-query';
import { type Confirmation, ConfirmTokens } from './confirm-tokens';
import { type BulkPreviewResponse, type BulkResultResponse, countSkipped, toBulkResult } from './users-bulk.dto';
import { type FixedSet, UsersBulkRepository, type UserSource } from './users-bulk.repository';

/** Maximum number of users that are changed in the transaction of the request. */
const atOnceMax = 10_000;
const matchedMax = 5_000_000;
const confirmWithinMs = 600_000;

/** The response to a bulk request: its preview, its result, or the operation in the background. */
export type BulkResponse = BulkPreviewResponse | BulkResultResponse | OperationResponse;

/** A request to change or delete the users that match a filter. */
interface BulkRequest extends BulkQuery {
  kind: 'change' | 'delete';
  change: ChangeFoundUsersRequest | null;
}

/**
 * Changes, deletes and restores many users: previews the request, fixes the users, and applies the
 * action at once or hands it over to the runner.
 */
@Injectable()
export class UsersBulkService {
  private readonly tokens: ConfirmTokens;

  constructor(
    private readonly users: UsersBulkRepository,
    private readonly changes: UserChangesService,
    private readonly bulkChanges: BulkChangesService,
    private readonly operations: OperationsService,
    private readonly idempotency: IdempotencyService,
    private readonly conflicts: ConflictLimitService,
    @Inject(CONFIG) config: Config,
  ) {
    this.tokens = new ConfirmTokens(config.APP_SECRET);
  }

  /**
   * Changes the users that match a filter, or previews the change.
   * @throws bulk.filter_required, bulk.too_many, bulk.expected_mismatch, bulk.set_changed,
   * operation.overlaps, request.invalid, access.grant_exceeds_own
   */
  @Transactional()
  async change(actor: Actor, query: BulkQuery, change: ChangeFoundUsersRequest): Promise<BulkResponse> {
    const request: BulkRequest = { kind: 'change', ...query, change };
    assertChange(change);
    const action = { kind: 'change', change: { ...change } } as const;
    const checked = await this.changes.check(actor, action);
    if (request.dry_run) return this.preview(actor, request, checked);
    if (needsFreshAuthentication(action)) assertFresh(actor);
    return this.apply(actor, request, checked);
  }

  /**
   * Deletes the users that match a filter, or previews the deletion.
   * @throws bulk.filter_required, bulk.too_many, bulk.expected_mismatch, bulk.set_changed,
   * operation.overlaps, request.invalid
   */
  @Transactional()
  async delete(actor: Actor, query: BulkQuery): Promise<BulkResponse> {
    const request: BulkRequest = { kind: 'delete', ...query, change: null };
    const checked = await this.changes.check(actor, { kind: 'delete' });
    if (request.dry_run) return this.preview(actor, request, checked);
    assertFresh(actor);
    return this.apply(actor, request, checked);
  }

  /**
   * Restores the users that an operation changed, or deletes the users that an import created, if
   * they have not changed since. Retries users that an earlier undo skipped.
   * @throws access.denied, operation.not_found, operation.not_undoable, operation.overlaps,
   * request.rate_limited
   */
  @Transactional()
  async undo(actor: Actor, operation_id: string): Promise<OperationResponse> {
    const { kind, finished_at } = await this.operations.get(actor, operation_id);
    if (finished_at === null || kind === 'undo') throw new AppError('operation.not_undoable');
    if (kind === 'delete') await this.conflicts.assertOpen(actor);
    const times = await this.operations.timesOf(operation_id);
    const checked = await this.changes.check(actor, undoOf(actor, kind, operation_id, times));
    const operation: OperationRequest = {
      kind: 'undo',
      permission: kind === 'change' ? 'user:update' : 'user:delete',
      request: { undo_of: operation_id, undoes: kind },
      undo_of: operation_id,
    };
    const undo_id = await this.operations.open(actor, operation);
    await this.operations.noteUndone(operation_id, undo_id);
    const source = { undo_of: operation_id, times, undos: await this.operations.undosOf(operation_id) };
    const { count, user_ids } = await this.fix(source, undo_id, undo_id);
    if (user_ids === null) return this.operations.accept(actor, undo_id, count);
    return this.applyAtOnce(actor, undo_id, operation, checked, user_ids);
  }

  private async preview(actor: Actor, request: BulkRequest, checked: CheckedAction): Promise<BulkPreviewResponse> {
    const confirm_id = newId();
    const found = await this.changes.preview(actor, checked, request.conditions, confirm_id);
    const { matched, would_change, unchanged, with_factors, with_keys, sample, skipped, digest } = found;
    const { mails, mails_seconds } = found;
    assertExpected(request, matched);
    const expires_at = found.previewed_at.getTime() + confirmWithinMs;
    return {
      kind: 'preview',
      ...{ matched, would_change, unchanged, with_factors, with_keys, mails, mails_seconds, sample },
      ...{ ...countSkipped(found.skipped_reasons), skipped },
      confirm_token: this.tokens.mint({ confirm_id, expires_at, count: matched, digest }, { actor, ...request }),
      expires_at: new Date(expires_at),
    };
  }

  /** Fixes the set of users first. From then on, the operation covers exactly these users. */
  private async apply(
    actor: Actor,
    request: BulkRequest,
    checked: CheckedAction,
  ): Promise<BulkResultResponse | OperationResponse> {
    const { conditions, confirm_token } = request;
    const confirmed = confirm_token === null ? null : this.tokens.read(confirm_token, { actor, ...request });
    const operation = operationOf(request, confirmed);
    const operation_id = await this.operations.open(actor, operation);
    const fixed = await this.fix({ scope: actor, conditions }, confirmed?.confirm_id ?? operation_id, operation_id);
    if (confirmed !== null) assertConfirmed(confirmed, fixed);
    assertExpected(request, fixed.count);
    if (fixed.count > matchedMax) throw new AppError('bulk.too_many');
    if (fixed.user_ids === null) {
      const accepted = await this.operations.accept(actor, operation_id, fixed.count);
      await this.idempotency.keep(202, accepted);
      return accepted;
    }
    const done = await this.applyAtOnce(actor, operation_id, operation, checked, fixed.user_ids);
    const result = toBulkResult(done);
    await this.idempotency.keep(200, result);
    return result;
  }

  /** Returns the ids of up to 10,000 users. Stores more users as batches of the operation. */
  private async fix(
    source: UserSource,
    seed: string,
    operation_id: string,
  ): Promise<FixedSet & { user_ids: string[] | null }> {
    const fixed = await this.users.fix(source, seed, atOnceMax + 1);
    if (fixed.count <= atOnceMax) return fixed;
    return { ...(await this.users.fixInBatches(source, seed, operation_id)), user_ids: null };
  }

  /** Applies an operation in the current transaction, all or nothing, without batches. */
  private async applyAtOnce(
    actor: Actor,
    operation_id: string,
    { kind, request }: OperationRequest,
    checked: CheckedAction,
    user_ids: string[],
  ): Promise<OperationResponse> {
    await this.operations.assertNoOverlap(operation_id, user_ids);
    await this.operations.recordAccepted(actor, { operation_id, kind, request, matched: user_ids.length });
    const { changed_ids, ...outcome } = await this.bulkChanges.apply(actor, checked, user_ids, operation_id);
    const operation = await this.operations.complete(operation_id, outcome);
    // An operation that was accepted in the meantime may have processed some of these users before
    // this operation, and may process others after it. From here on, the other operation waits for
    // the locks of this transaction.
    await this.operations.assertNoOverlap(operation_id, changed_ids);
    return operation;
  }
}

function operationOf({ kind, filters, change }: BulkRequest, confirmed: Confirmation | null): OperationRequest {
  return {
    kind,
    permission: kind === 'delete' ? 'user:delete' : 'user:update',
    request: { filters, ...(change === null ? {} : { change: { ...change } }) },
    confirm_id: confirmed?.confirm_id ?? null,
  };
}

function assertExpected({ expected }: BulkQuery, count: number): void {
  if (expected === null || expected === count) return;
  throw new AppError('bulk.expected_mismatch', { detail: `The filter matches ${count} users, not ${expected}.` });
}

function assertConfirmed(confirmed: Confirmation, fixed: FixedSet): void {
  const same = confirmed.count === fixed.count && confirmed.digest === fixed.digest;
  if (!same || confirmed.expires_at <= fixed.fixed_at.getTime()) throw new AppError('bulk.set_changed');
}

function assertChange(request: ChangeFoundUsersRequest): void {
  if (Object.keys(request).length === 0)
    throw invalid({ pointer: '', code: 'field.required', detail: 'must contain a field to change' });
  const { roles, roles_add, roles_remove } = request;
  const alone = (['secure', 'invite'] as const).find((field) => request[field] !== undefined);
  if (alone !== undefined && Object.keys(request).length > 1)
    throw invalid({ pointer: `/${alone}`, code: 'field.not_allowed', detail: 'cannot be combined with other fields' });
  if (roles !== undefined && (roles_add !== undefined || roles_remove !== undefined))
    throw invalid({
      pointer: '/roles',
      code: 'field.not_allowed',
      detail: 'cannot be combined with roles_add or roles_remove',
    });
  const both = roles_remove?.find((role) => roles_add?.includes(role));
  if (both !== undefined)
    throw invalid({
      pointer: '/roles_remove',
      code: 'field.not_allowed',
      detail: `contains ${both}, which roles_add also contains`,
      params: { role: both },
    });
}
