import { Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { Admission, workOwnerOf } from '../access/admission';
import { holds } from '../access/permissions';
import type { Scope } from '../access/scope';
import type { FieldError } from '../common/errors/app-error';
import { CredentialsService } from '../credentials/credentials.service';
import { eventBase } from '../events/events.service';
import { RolesService } from '../roles/roles.service';
import { ConflictLimitService } from '../rate-limits/conflict-limit.service';
import { UserMailsService } from '../user-mails/user-mails.service';
import type { DryRunState } from './dry-run-state';
import { type FailedRow, toFailedRow } from './failed-rows';
import type { ImportLine } from './import-file';
import type { ImportOptions } from './import-options';
import { type ImportContext, type ImportedUser, isMd5, readRow } from './import-rows';
import { type Conflict, UsersImportRepository } from './users-import.repository';

/** Outcome of rows. */
export interface RowsOutcome {
  created: number;
  /** number of rows whose id, name or address is taken, with `on_conflict=skip` */
  unchanged: number;
  failed: FailedRow[];
}

/** Outcome that an import of rows would have. */
interface PreviewOutcome extends RowsOutcome {
  /** number of rows whose id, name or address is taken */
  conflicts: number;
}

/** Rows that were read: the users of valid rows, and the rows that failed. */
interface ReadRows {
  users: ImportedUser[];
  failed: FailedRow[];
  /** returns the row of a user as a failed row */
  toFailed: (user: ImportedUser, fault: FieldError) => FailedRow;
}

const takenCodes: Record<Conflict['field'], string> = {
  user_id: 'field.not_allowed',
  name: 'user.name_taken',
  email: 'user.email_taken',
};

/** Checks the rows of imports and creates their users. */
@Injectable()
export class ImportRowsService {
  constructor(
    private readonly users: UsersImportRepository,
    private readonly roles: RolesService,
    private readonly mails: UserMailsService,
    private readonly conflicts: ConflictLimitService,
    private readonly credentials: CredentialsService,
    private readonly admission: Admission,
  ) {}

  /**
   * Creates the users of rows in the current transaction.
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
    const { users, failed, toFailed } = await this.readRows({ actor, grants }, lines, wrapped);
    const created_by = actor.actor_type === 'system' ? null : actor.user_id;
    const event = eventBase(actor, 'user.created', { operation_id });
    // A row with an unwrapped MD5 hash had a conflict before. Never store it; report the conflict.
    const ready = users.filter(({ password_hash }) => !isMd5(password_hash));
    const created = new Set(ready.length === 0 ? [] : await this.users.create(ready, created_by, event));
    if (options.invite) {
      const invited = users.filter(({ line, status }) => created.has(line) && status === 'invited');
      if (invited.length > 0) await this.mails.inviteNew(invited);
    }
    const left = users.filter(({ line }) => !created.has(line));
    const conflicts = left.length === 0 ? [] : await this.users.findConflicts(left, visibleScope(actor));
    const stored = users.filter(({ line }) => created.has(line)).map(({ password_hash }) => password_hash);
    await this.credentials.noteHashes(stored.filter((hash) => hash !== null));
    // In the batch's transaction: a conflict is counted if and only if the operation stores it.
    const visible = visibleLines(conflicts);
    const counted = left.filter(({ line }) => !visible.has(line));
    const reportable = await this.conflicts.count(actor, counted.length);
    const unnamed = new Set(options.on_conflict === 'skip' ? [] : counted.slice(reportable));
    const reported = left.filter((user) => !unnamed.has(user));
    const hidden = [...unnamed].map((user) => toFailed(user, hiddenConflict));
    const taken = this.settle(reported, conflicts, options, toFailed);
    return { created: created.size, unchanged: taken.unchanged, failed: inOrder(failed, hidden, taken.failed) };
  }

  /** Returns the users that could be created from rows now. */
  async findCreatable(actor: Actor, lines: ImportLine[]): Promise<ImportedUser[]> {
    const grants = await this.roles.grantsOf(actor);
    const { users } = await this.readRows({ actor, grants }, lines, new Map());
    const conflicts = users.length === 0 ? [] : await this.users.findConflicts(users, null);
    const taken = new Set(conflicts.map(({ line }) => line));
    return users.filter(({ line }) => !taken.has(line));
  }

  /**
   * Returns the outcome that `create` would have, without creating users.
   * @throws request.rate_limited
   */
  preview(actor: Actor, lines: ImportLine[], state: DryRunState, options: ImportOptions): Promise<PreviewOutcome> {
    return this.admission.run(workOwnerOf(actor), () => this.check(actor, lines, state, options));
  }

  /**
   * Stops checking rows at the first hidden conflict beyond the limit of the actor. From there on,
   * taken and free names get the same result: an actor could probe with dry runs, which create no
   * users (B25). Conflicts with users whom the actor may see are always reported.
   */
  private async check(
    actor: Actor,
    lines: ImportLine[],
    state: DryRunState,
    options: ImportOptions,
  ): Promise<PreviewOutcome> {
    const grants = await this.roles.grantsOf(actor);
    const { users, failed, toFailed } = await this.readRows({ actor, grants }, lines, new Map());
    const inDatabase = users.length === 0 ? [] : await this.users.findConflicts(users, visibleScope(actor));
    const visible = visibleLines(inDatabase);
    const conflicts = state.limited
      ? inDatabase.filter(({ hidden }) => !hidden)
      : withEarlierRows(users, inDatabase, state);
    const counted = conflicts.filter(({ hidden }) => hidden);
    const reportable = await this.conflicts.count(actor, counted.length);
    const endLine = state.limited ? 0 : (counted[reportable]?.line ?? Infinity);
    state.limited = endLine < Infinity;
    const conflictLines = new Set(conflicts.map(({ line }) => line));
    // After `endLine`, a conflict with an earlier row would reveal whether the earlier row is free.
    const checked = users.filter(({ line }) => line < endLine || visible.has(line));
    const left = checked.filter(({ line }) => conflictLines.has(line));
    const hidden = users
      .filter(({ line }) => line >= endLine && !visible.has(line))
      .map((user) => toFailed(user, uncheckedRow));
    const taken = this.settle(left, conflicts, options, toFailed);
    return {
      created: checked.length - left.length,
      conflicts: conflicts.length,
      unchanged: taken.unchanged,
      failed: inOrder(failed, hidden, taken.failed),
    };
  }

  private async readRows(
    { actor, grants }: Pick<ImportContext, 'actor' | 'grants'>,
    lines: ImportLine[],
    wrapped: Map<number, string>,
  ): Promise<ReadRows> {
    const budget = await this.credentials.refusalBudget();
    const context = { actor, grants, wrapped, budget };
    const byLine = new Map(lines.map((read) => [read.line, read]));
    const users: ImportedUser[] = [];
    const failed: FailedRow[] = [];
    for (const read of lines) {
      const user = readRow(read, context);
      if (Array.isArray(user)) failed.push(toFailedRow(read, user));
      else users.push(user);
    }
    const toFailed: ReadRows['toFailed'] = ({ line }, fault) =>
      toFailedRow(byLine.get(line) ?? { line, size: 0 }, [fault]);
    return { users, failed, toFailed };
  }

  private settle(
    left: ImportedUser[],
    conflicts: Conflict[],
    { on_conflict }: ImportOptions,
    toFailed: ReadRows['toFailed'],
  ): Pick<RowsOutcome, 'unchanged' | 'failed'> {
    if (on_conflict === 'skip') return { unchanged: left.length, failed: [] };
    const fields = new Map(conflicts.map(({ line, field }) => [line, field]));
    const failed = left.map((user) => {
      // The conflicting user may have been deleted in the meantime. Then report the name.
      const field = fields.get(user.line) ?? 'name';
      return toFailed(user, { pointer: `/${field}`, code: takenCodes[field], detail: 'is taken' });
    });
    return { unchanged: 0, failed };
  }
}

const hiddenConflict: FieldError = {
  pointer: '',
  code: 'field.conflict',
  detail: 'has a taken name, address or id; after too many conflicts in an hour the field is not named',
};
const uncheckedRow: FieldError = {
  pointer: '',
  code: 'field.conflict',
  detail: 'was not checked, because there were too many conflicts in an hour',
};

/** Adds the conflicts with earlier rows of the file, in the order of the rows. */
function withEarlierRows(users: ImportedUser[], inDatabase: Conflict[], state: DryRunState): Conflict[] {
  const byLine = new Map(inDatabase.map((conflict) => [conflict.line, conflict]));
  return users.flatMap((user) => byLine.get(user.line) ?? state.add(user) ?? []);
}

/**
 * Returns the scope in which conflicts are not counted, or null if all conflicts are counted. An
 * unlimited scope exempts conflicts only together with `user:read`.
 */
function visibleScope(actor: Actor): Scope | null {
  const isUnlimited = actor.user_type === 'system' && actor.carrier_scope === null;
  return isUnlimited && !holds(actor.permissions, 'user:read') ? null : actor;
}

function visibleLines(conflicts: Conflict[]): Set<number> {
  return new Set(conflicts.filter(({ hidden }) => !hidden).map(({ line }) => line));
}

function inOrder(...rows: FailedRow[][]): FailedRow[] {
  return rows.flat().sort((one, other) => one.line - other.line);
}
