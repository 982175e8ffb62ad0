import { Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { holds } from '../access/permissions';
import { currentTime } from '../common/clock';
import type { FieldError } from '../common/errors/app-error';
import { sql, type SqlFragment } from '../common/query/sql';
import { shortHash } from '../common/random';
import { CredentialsService } from '../credentials/credentials.service';
import { EventsService } from '../events/events.service';
import { RolesService } from '../roles/roles.service';
import { ConflictLimitService } from '../rate-limits/conflict-limit.service';
import { UserMailsService } from '../users/user-mails.service';
import { visibleUsers } from '../users/users.sql';
import type { ImportLine } from './import-file';
import { type ImportedUser, isMd5, type Judge, judge, shortFault } from './import-rows';
import type { ImportOptions } from './import-options';
import { type Conflict, createdTargets, UsersImportRepository } from './users-import.repository';

/** A row that failed, as an operation keeps it. */
export interface FailedRow {
  line: number;
  pointer: string;
  /** error code */
  reason: string;
  detail: string;
}

/** What became of rows. */
export interface RowsOutcome {
  created: number;
  /** left out because they are there already, as was asked for */
  skipped: number;
  failed: FailedRow[];
}

/** The outcome that an import of rows would have. */
interface PreviewOutcome extends RowsOutcome {
  /** rows whose id, name or address is taken */
  conflicts: number;
}

const takenCodes: Record<Conflict['field'], string> = {
  user_id: 'field.not_allowed',
  name: 'user.name_taken',
  email: 'user.email_taken',
};

/** Rows of an import: which users they become, and creating these. */
@Injectable()
export class ImportRowsService {
  constructor(
    private readonly users: UsersImportRepository,
    private readonly roles: RolesService,
    private readonly events: EventsService,
    private readonly mails: UserMailsService,
    private readonly conflicts: ConflictLimitService,
    private readonly credentials: CredentialsService,
  ) {}

  /** Creates the users of rows, in the current transaction. */
  async create(
    actor: Actor,
    lines: ImportLine[],
    wrapped: Map<number, string>,
    options: ImportOptions,
    operation_id: string,
  ): Promise<RowsOutcome> {
    const { users, failed } = await this.judge(
      { actor, grants: await this.roles.frozenGrantsOf(actor) },
      lines,
      wrapped,
    );
    const created_by = actor.actor_type === 'system' ? null : actor.user_id;
    const events = this.events.recordAll(actor, 'user.created', 'user', createdTargets, operation_id);
    // An MD5 that is not wrapped yet had a conflict before. Never store it: report the row as
    // taken.
    const ready = users.filter(({ password_hash }) => !isMd5(password_hash));
    const made = new Set(ready.length === 0 ? [] : await this.users.create(ready, created_by, events));
    if (options.invite) {
      const invited = users.filter(({ line, status }) => made.has(line) && status === 'invited');
      if (invited.length > 0) await this.mails.inviteNew(invited);
    }
    const left = users.filter(({ line }) => !made.has(line));
    const conflicts = left.length === 0 ? [] : await this.users.findConflicts(left, visibleConflicts(actor));
    const stored = users.filter(({ line }) => made.has(line)).map(({ password_hash }) => password_hash);
    await this.credentials.noteHashes(stored.filter((hash) => hash !== null));
    // In the batch's transaction: a conflict is counted if and only if the operation stores it.
    const visible = visibleLines(conflicts);
    const counted = left.filter(({ line }) => !visible.has(line));
    const reportable = await this.conflicts.count(actor, counted.length);
    const unnamed = new Set(options.on_conflict === 'skip' ? [] : counted.slice(reportable));
    const reported = left.filter((user) => !unnamed.has(user));
    const hidden = [...unnamed].map(({ line }) => toFailed(line, hiddenConflict));
    return { created: made.size, ...this.settle(reported, conflicts, [...failed, ...hidden], options) };
  }

  /** Returns the users that could be created from rows now. Does not change the rows. */
  async findCreatable(actor: Actor, lines: ImportLine[]): Promise<ImportedUser[]> {
    const grants = await this.roles.grantsOf(actor);
    const { users } = await this.judge({ actor, grants }, structuredClone(lines), new Map());
    const conflicts = users.length === 0 ? [] : await this.users.findConflicts(users, sql`false`);
    const taken = new Set(conflicts.map(({ line }) => line));
    return users.filter(({ line }) => !taken.has(line));
  }

  /**
   * Returns the outcome that `create` would have, without creating users.
   * Stops checking rows at the first hidden conflict beyond the limit of the actor. From there on,
   * taken and free names get the same result: an actor could probe with dry runs, which create no
   * users (B25). Conflicts with users whom the actor may see are always reported.
   */
  async preview(
    actor: Actor,
    lines: ImportLine[],
    file: PreviewedFile,
    options: ImportOptions,
  ): Promise<PreviewOutcome> {
    const { users, failed } = await this.judge({ actor, grants: await this.roles.grantsOf(actor) }, lines, new Map());
    const inDatabase = users.length === 0 ? [] : await this.users.findConflicts(users, visibleConflicts(actor));
    const visible = visibleLines(inDatabase);
    const conflicts = file.limited
      ? inDatabase.filter(({ hidden }) => !hidden)
      : withEarlierRows(users, inDatabase, file);
    const counted = conflicts.filter(({ hidden }) => hidden);
    const reportable = await this.conflicts.count(actor, counted.length);
    const endLine = file.limited ? 0 : (counted[reportable]?.line ?? Infinity);
    file.limited = endLine < Infinity;
    const conflictLines = new Set(conflicts.map(({ line }) => line));
    // Behind the end, a conflict with an earlier row would reveal whether that row is free.
    const checked = users.filter(({ line }) => line < endLine || visible.has(line));
    const left = checked.filter(({ line }) => conflictLines.has(line));
    const hidden = users
      .filter(({ line }) => line >= endLine && !visible.has(line))
      .map(({ line }) => toFailed(line, uncheckedRow));
    const settled = this.settle(left, conflicts, [...failed, ...hidden], options);
    return { created: checked.length - left.length, conflicts: conflicts.length, ...settled };
  }

  private async judge(
    { actor, grants }: Pick<Judge, 'actor' | 'grants'>,
    lines: ImportLine[],
    wrapped: Map<number, string>,
  ): Promise<{ users: ImportedUser[]; failed: FailedRow[] }> {
    const judged = { actor, grants, now: currentTime(), wrapped, budget: await this.credentials.refusalBudget() };
    const users: ImportedUser[] = [];
    const failed: FailedRow[] = [];
    for (const { line, values, fault } of lines) {
      const user = values === undefined ? (fault ?? unreadable) : judge(line, values, judged);
      if ('code' in user) failed.push(toFailed(line, user));
      else users.push(user);
    }
    return { users, failed };
  }

  private settle(
    left: ImportedUser[],
    conflicts: Conflict[],
    failed: FailedRow[],
    { on_conflict }: ImportOptions,
  ): Pick<RowsOutcome, 'skipped' | 'failed'> {
    if (on_conflict === 'skip') return { skipped: left.length, failed };
    const fields = new Map(conflicts.map(({ line, field }) => [line, field]));
    const taken = left.map(({ line }) => {
      // whoever was in the way has gone in the same moment: the name is as good a reason as any
      const field = fields.get(line) ?? 'name';
      return { line, pointer: `/${field}`, reason: takenCodes[field], detail: 'is taken' };
    });
    return { skipped: 0, failed: [...failed, ...taken].sort((a, b) => a.line - b.line) };
  }
}

const hiddenConflict: FieldError = {
  code: 'field.conflict',
  detail: 'has a taken name, address or id; after too many conflicts in an hour the field is not named',
};
const uncheckedRow: FieldError = {
  code: 'field.conflict',
  detail: 'was not checked, because there were too many conflicts in an hour',
};
const unreadable: FieldError = { pointer: '', code: 'field.malformed', detail: 'cannot be read' };

/** Adds the conflicts with earlier rows of the file, in the order of the rows. */
function withEarlierRows(users: ImportedUser[], inDatabase: Conflict[], file: PreviewedFile): Conflict[] {
  const byLine = new Map(inDatabase.map((conflict) => [conflict.line, conflict]));
  return users.flatMap((user) => byLine.get(user.line) ?? file.take(user) ?? []);
}

/**
 * Renders with which users (`other`) a conflict is not counted. Without `user:read`, an unlimited
 * scope shows none.
 */
function visibleConflicts(actor: Actor): SqlFragment {
  const isUnlimited = actor.user_type === 'system' && actor.carrier_scope === null;
  return isUnlimited && !holds(actor.permissions, 'user:read') ? sql`false` : visibleUsers(actor, 'other');
}

function visibleLines(conflicts: Conflict[]): Set<number> {
  return new Set(conflicts.filter(({ hidden }) => !hidden).map(({ line }) => line));
}

function toFailed(line: number, fault: FieldError): FailedRow {
  const { pointer = '', code, detail } = shortFault(fault);
  return { line, pointer, reason: code, detail };
}

/** Keeps the ids, names and addresses of a file's rows so far, as numbers to save memory. */
export class PreviewedFile {
  /** true once the actor has exceeded the limit of conflicts; then no further row is checked */
  limited = false;
  private readonly seen = new Set<number>();

  /**
   * Remembers what a user has; if an earlier one has it already, what it is, and nothing is
   * remembered.
   */
  take({ line, user_id, name, email }: ImportedUser): Conflict | null {
    const keys = {
      user_id: shortHash(`i${user_id}`),
      name: shortHash(`n${name.toLowerCase()}`),
      email: shortHash(`e${email.toLowerCase()}`),
    };
    const [field] = (['user_id', 'name', 'email'] as const).filter((one) => this.seen.has(keys[one]));
    if (field !== undefined) return { line, field, hidden: false };
    Object.values(keys).forEach((key) => this.seen.add(key));
    return null;
  }
}
