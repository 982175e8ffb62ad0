import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Actor } from '../../access/actor';
import { Admission, workOwnerOf } from '../../access/admission';
import type { FieldError } from '../../http/errors/app-error';
import { CredentialsService } from '../../auth/passwords/credentials.service';
import { wrapMd5 } from '../../auth/passwords/password-hashing';
import { eventBase } from '../../audit/event-base';
import { ConflictLimitService, visibleScope } from '../../access/rate-limits/conflict-limit.service';
import { type Grants, RolesService } from '../../access/roles/roles.service';
import { RememberedActorsService } from '../../auth/tokens/remembered-actors.service';
import { UserMailsService } from '../mails/user-mails.service';
import type { SkippedRow } from '../operations/operation.entity';
import { OperationRunner } from '../operations/operation-runner.service';
import type { BatchOutcome, OperationRecord } from '../operations/operations.repository';
import { addFailed, emptySummary, toFailedRow } from './files/failed-rows';
import type { ImportLine } from './files/import-file';
import { type ImportedUser, type ImportOptions, isMd5, readRow } from './import-rows';
import { type Conflict, UsersImportRepository } from './users-import.repository';
import { importRows } from './users-transfer.metrics';

/** Outcome of rows, or the outcome that an import of the rows would have. */
export interface RowsOutcome {
  created: number;
  /** number of rows whose id, name or address is taken */
  conflicts: number;
  /** number of these rows that are skipped, with `on_conflict=skip` */
  unchanged: number;
  failed: SkippedRow[];
  /** number of created users without a password, who can be invited */
  invited: number;
}

const takenCodes: Record<Conflict['field'], string> = {
  user_id: 'field.not_allowed',
  name: 'user.name_taken',
  email: 'user.email_taken',
};
const uncheckedRow: FieldError = {
  pointer: '',
  code: 'request.rate_limited',
  detail: 'was not checked, because there were too many conflicts within an hour',
};

/**
 * Checks the rows of imports and creates their users, with the permissions that the actor has at
 * the time of each batch.
 */
@Injectable()
export class ImportRowsService implements OnModuleInit {
  constructor(
    private readonly users: UsersImportRepository,
    private readonly roles: RolesService,
    private readonly mails: UserMailsService,
    private readonly conflicts: ConflictLimitService,
    private readonly credentials: CredentialsService,
    private readonly admission: Admission,
    private readonly runner: OperationRunner,
    private readonly actors: RememberedActorsService,
  ) {}

  onModuleInit(): void {
    this.runner.handle('import', {
      prepare: (operation, { rows }) => this.wrap(operation, rows as ImportLine[]),
      run: (operation, { rows }, wrapped) => this.run(operation, rows as ImportLine[], wrapped as Map<number, string>),
      committed: ({ changed, unchanged, skipped_count }) => {
        importRows.inc({ outcome: 'created' }, changed);
        importRows.inc({ outcome: 'unchanged' }, unchanged);
        importRows.inc({ outcome: 'failed' }, skipped_count);
      },
    });
  }

  /**
   * Wraps the MD5 hashes of rows that can become users, and returns the results by line. A failed
   * row must cost no hash (L21).
   */
  private async wrap(operation: OperationRecord, lines: ImportLine[]): Promise<Map<number, string>> {
    const wrapped = new Map<number, string>();
    const withMd5 = lines.filter(({ values }) => isMd5(values?.['password_hash']));
    const actor = await this.actors.of(operation);
    if (withMd5.length === 0 || !(await this.conflicts.isOpen(actor))) return wrapped;
    const { users } = await this.read(actor, await this.roles.grantsOf(actor), withMd5);
    const conflicts = users.length === 0 ? [] : await this.users.findConflicts(users, null);
    const taken = new Set(conflicts.map(({ line }) => line));
    for (const { line, password_hash } of users)
      if (!taken.has(line) && isMd5(password_hash)) wrapped.set(line, await wrapMd5(password_hash));
    return wrapped;
  }

  private async run(
    operation: OperationRecord,
    lines: ImportLine[],
    wrapped: Map<number, string>,
  ): Promise<BatchOutcome> {
    const options = operation.request as unknown as ImportOptions;
    const actor = await this.actors.of(operation);
    const { created, unchanged, failed } = await this.create(actor, lines, wrapped, options, operation.operation_id);
    const summary = addFailed(emptySummary(), failed);
    return { processed: lines.length, changed: created, unchanged, ...summary, skipped_rows: failed };
  }

  /**
   * Creates the users of rows in the current transaction, so that conflicts are counted if and only
   * if the operation stores them.
   * @param wrapped Argon2id hashes that replace the MD5 hashes, by line
   */
  async create(
    actor: Actor,
    lines: ImportLine[],
    wrapped: Map<number, string>,
    options: ImportOptions,
    operation_id: string,
  ): Promise<RowsOutcome> {
    const grants = await this.roles.frozenGrantsOf(actor, true);
    return this.settle(actor, grants, lines, options, async (users) => {
      const hashed = users.map((user) => ({ ...user, password_hash: wrapped.get(user.line) ?? user.password_hash }));
      // Never store a bare MD5 hash. `wrap` left out rows with a conflict, which `settle` reports.
      const ready = hashed.filter(({ password_hash }) => !isMd5(password_hash));
      if (ready.length === 0) return [];
      const created_by = actor.actor_type === 'system' ? null : actor.user_id;
      const created = await this.users.create(ready, created_by, eventBase(actor, 'user.created', { operation_id }));
      const invited = ready.filter(({ status, line }) => status === 'invited' && created.includes(line));
      if (options.invite && invited.length > 0) await this.mails.inviteMany(invited);
      return created;
    });
  }

  /**
   * Returns the outcome that `create` would have, without creating users. Compares the rows with
   * the stored users, not with each other.
   * @throws request.rate_limited
   */
  preview(actor: Actor, lines: ImportLine[], options: ImportOptions): Promise<RowsOutcome> {
    return this.admission.run(workOwnerOf(actor), async () => {
      const grants = await this.roles.grantsOf(actor);
      return this.settle(actor, grants, lines, options, (users) => Promise.resolve(users.map(({ line }) => line)));
    });
  }

  /** @param insert creates users, and returns the lines of the created users */
  private async settle(
    actor: Actor,
    grants: Grants,
    lines: ImportLine[],
    { on_conflict }: ImportOptions,
    insert: (users: ImportedUser[]) => Promise<number[]>,
  ): Promise<RowsOutcome> {
    const { users, failed } = await this.read(actor, grants, lines);
    const byLine = new Map(lines.map((read) => [read.line, read]));
    const fail = ({ line }: ImportedUser, fault: FieldError) =>
      failed.push(toFailedRow(byLine.get(line) ?? { line, size: 0 }, [fault]));
    const { fields, end } = await this.judge(actor, users);
    const open = users.filter(({ line }) => line < end);
    const free = open.filter(({ line }) => !fields.has(line));
    const created = new Set(free.length === 0 ? [] : await insert(free));
    // Another row or request created a user with the same values in the meantime.
    const late = free.filter(({ line }) => !created.has(line));
    const found = late.length === 0 ? [] : await this.users.findConflicts(late, null);
    found.forEach(({ line, field }) => fields.set(line, field));
    const taken = open.filter(({ line }) => !created.has(line));
    const unchanged = on_conflict === 'skip' ? taken.length : 0;
    for (const user of unchanged > 0 ? [] : taken) {
      // The conflicting user may have been deleted in the meantime. Then report the name.
      const field = fields.get(user.line) ?? 'name';
      fail(user, { pointer: `/${field}`, code: takenCodes[field], detail: 'is taken' });
    }
    users.filter(({ line }) => line >= end).forEach((user) => fail(user, uncheckedRow));
    failed.sort((one, other) => one.line - other.line);
    const invited = free.filter(({ line, status }) => status === 'invited' && created.has(line)).length;
    return { created: created.size, conflicts: taken.length, unchanged, failed, invited };
  }

  /**
   * Finds the taken fields of rows, and counts the conflicts with users that the actor cannot see.
   * Returns the line of the first conflict beyond the limit as `end`: from this line on, no row is
   * checked or created, so that taken and free names look alike (B25).
   */
  private async judge(
    actor: Actor,
    users: ImportedUser[],
  ): Promise<{ fields: Map<number, Conflict['field']>; end: number }> {
    if (users.length === 0 || !(await this.conflicts.isOpen(actor))) return { fields: new Map(), end: 0 };
    const conflicts = await this.users.findConflicts(users, visibleScope(actor));
    const hidden = conflicts.filter((conflict) => conflict.hidden);
    const end = hidden[await this.conflicts.count(actor, hidden.length)]?.line ?? Infinity;
    return { fields: new Map(conflicts.map(({ line, field }) => [line, field])), end };
  }

  private async read(
    actor: Actor,
    grants: Grants,
    lines: ImportLine[],
  ): Promise<{ users: ImportedUser[]; failed: SkippedRow[] }> {
    const costs = await this.credentials.refusalCosts();
    const users: ImportedUser[] = [];
    const failed: SkippedRow[] = [];
    for (const read of lines) {
      const user = readRow(read, { actor, grants, costs });
      if (Array.isArray(user)) failed.push(toFailedRow(read, user));
      else users.push(user);
    }
    return { users, failed };
  }
}
