import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import type { Actor } from '../access/actor';
import { AppError, type FieldError, invalid } from '../common/errors/app-error';
import { type Condition, parseFilter, type RawQuery } from '../common/query/filter';
import { filterSql } from '../common/query/filter-sql';
import { sql, type SqlFragment } from '../common/query/sql';
import { newId } from '../common/random';
import { type Plan, UserChangesService } from '../users/user-changes.service';
import type { ChangeFoundUsersRequest } from '../users/users.dto';
import { userFilter, UsersService, visibleUsers } from '../users/users.service';
import type { BulkResultResponse } from './users-bulk.dto';

/** Most users that one change may touch. */
const foundMax = 10_000;
const skippedShown = 100;
const sampleShown = 20;

type Deed = Awaited<ReturnType<UserChangesService['deleteDeed']>>;

/** What a bulk request asks for besides the change itself. */
interface FoundRequest {
  conditions: Condition[];
  dry_run: boolean;
  /** refuse any other number of found users */
  expected: number | null;
}

/** Changing and deleting the users that a filter finds: all of them in one transaction, or none. */
@Injectable()
export class UsersBulkService {
  constructor(
    private readonly users: UsersService,
    private readonly changes: UserChangesService,
  ) {}

  /** @throws bulk.filter_required, bulk.too_many, bulk.expected_mismatch, request.invalid, access.grant_exceeds_own */
  @Transactional()
  async change(actor: Actor, query: RawQuery, request: ChangeFoundUsersRequest): Promise<BulkResultResponse> {
    const found = parseFound(query);
    assertChange(request);
    return this.apply(actor, found, await this.changes.changeDeed(actor, { ...request }));
  }

  /** @throws bulk.filter_required, bulk.too_many, bulk.expected_mismatch, request.invalid */
  @Transactional()
  async delete(actor: Actor, query: RawQuery): Promise<BulkResultResponse> {
    const found = parseFound(query);
    return this.apply(actor, found, await this.changes.deleteDeed(actor));
  }

  private async apply(actor: Actor, { conditions, dry_run, expected }: FoundRequest, deed: Deed): Promise<BulkResultResponse> {
    const condition: SqlFragment = sql`users.deleted_at is null and ${visibleUsers(actor)} and ${filterSql(conditions)}`;
    const plan = await this.changes.plan(actor, condition, deed, foundMax + 1, !dry_run);
    if (plan.found.length > foundMax) throw new AppError('bulk.too_many', { detail: `The filter finds more than ${foundMax} users.` });
    if (expected !== null && plan.found.length !== expected)
      throw new AppError('bulk.expected_mismatch', { detail: `The filter finds ${plan.found.length} users, not ${expected}.` });
    if (dry_run) return this.preview(plan);
    const operation_id = newId();
    const changed = await this.changes.carryOut(actor, deed, plan, operation_id);
    return { operation_id, ...counts(plan), changed: changed.length, undo_until: null };
  }

  private async preview(plan: Plan): Promise<BulkResultResponse> {
    const sample = await this.users.sample(plan.to_change.slice(0, sampleShown));
    return { operation_id: null, ...counts(plan), changed: 0, would_change: plan.to_change.length, sample, undo_until: null };
  }
}

function counts({ found, unchanged, skipped }: Plan): Pick<BulkResultResponse, 'matched' | 'unchanged' | 'skipped_count' | 'skipped'> {
  return {
    matched: found.length,
    unchanged,
    skipped_count: skipped.length,
    skipped: skipped.slice(0, skippedShown).map(({ user_id, reason }) => ({ user_id, reason })),
  };
}

/** Never all by omission: without a filter `everyone=true` is demanded, and with one it is refused. */
function parseFound(query: RawQuery): FoundRequest {
  const { dry_run, everyone, expected, ...filters } = query;
  const errors: FieldError[] = [];
  const conditions = parseFilter(filters, userFilter, errors);
  const read = (parameter: string, value: RawQuery[string]) => {
    if (value !== undefined && value !== 'true' && value !== 'false')
      errors.push({ parameter, code: 'parameter.malformed', detail: 'must be true or false' });
    return value === 'true';
  };
  const preview = read('dry_run', dry_run);
  const all = read('everyone', everyone);
  if (expected !== undefined && (typeof expected !== 'string' || !/^(0|[1-9]\d{0,8})$/.test(expected))) {
    errors.push({ parameter: 'expected', code: 'parameter.malformed', detail: 'must be a number' });
  }
  if (all && Object.keys(filters).length > 0)
    errors.push({ parameter: 'everyone', code: 'parameter.conflict', detail: 'cannot go with a filter' });
  if (errors.length > 0) throw invalid(...errors);
  if (conditions.length === 0 && !all) throw new AppError('bulk.filter_required');
  return { conditions, dry_run: preview, expected: typeof expected === 'string' ? Number(expected) : null };
}

function assertChange(request: ChangeFoundUsersRequest): void {
  if (Object.keys(request).length === 0) throw invalid({ pointer: '', code: 'field.required', detail: 'names no field to change' });
  if (request.roles === undefined || (request.roles_add === undefined && request.roles_remove === undefined)) return;
  throw invalid({ pointer: '/roles', code: 'field.not_allowed', detail: 'cannot go with roles_add or roles_remove' });
}
