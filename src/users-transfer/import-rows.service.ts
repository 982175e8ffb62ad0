import { Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { Admission, workOwnerOf } from '../access/admission';
import type { FieldError } from '../common/errors/app-error';
import { CredentialsService } from '../credentials/credentials.service';
import { eventBase } from '../events/events.service';
import { RolesService } from '../roles/roles.service';
import { ConflictLimitService, visibleScope } from '../rate-limits/conflict-limit.service';
import { UserMailsService } from '../user-mails/user-mails.service';
import { type FailedRow, toFailedRow } from './failed-rows';
import type { ImportLine } from './import-file';
import type { ImportOptions } from './import-options';
import { type ImportContext, type ImportedUser, isMd5, readRow } from './import-rows';
import { type Conflict, UsersImportRepository } from './users-import.repository';

/** Outcome of rows, or the outcome that an import of the rows would have. */
export interface RowsOutcome {
  created: number;
  /** number of rows whose id, name or address is taken */
  conflicts: number;
  /** number of these rows that are skipped, with `on_conflict=skip` */
  unchanged: number;
  failed: FailedRow[];
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
    const insert = (users: ImportedUser[]) => this.insert(actor, users, options, operation_id);
    return this.settle({ actor, grants, wrapped }, lines, options, insert);
  }

  /**
   * Returns the outcome that `create` would have, without creating users. Compares the rows with
   * the stored users, not with each other.
   * @throws request.rate_limited
   */
  preview(actor: Actor, lines: ImportLine[], options: ImportOptions): Promise<RowsOutcome> {
    return this.admission.run(workOwnerOf(actor), async () => {
      const context = { actor, grants: await this.roles.grantsOf(actor), wrapped: new Map<number, string>() };
      return this.settle(context, lines, options, (users) => Promise.resolve(users.map(({ line }) => line)));
    });
  }

  /** Returns the users that could be created from rows now. */
  async findCreatable(actor: Actor, lines: ImportLine[]): Promise<ImportedUser[]> {
    if (!(await this.conflicts.isOpen(actor))) return [];
    const grants = await this.roles.grantsOf(actor);
    const { users } = await this.read({ actor, grants, wrapped: new Map() }, lines);
    const conflicts = users.length === 0 ? [] : await this.users.findConflicts(users, null);
    const taken = new Set(conflicts.map(({ line }) => line));
    return users.filter(({ line }) => !taken.has(line));
  }

  /** @param insert creates users, and returns the lines of the created users */
  private async settle(
    context: Omit<ImportContext, 'budget'>,
    lines: ImportLine[],
    { on_conflict }: ImportOptions,
    insert: (users: ImportedUser[]) => Promise<number[]>,
  ): Promise<RowsOutcome> {
    const { users, failed } = await this.read(context, lines);
    const byLine = new Map(lines.map((read) => [read.line, read]));
    const fail = ({ line }: ImportedUser, fault: FieldError) =>
      failed.push(toFailedRow(byLine.get(line) ?? { line, size: 0 }, [fault]));
    const { fields, end } = await this.judge(context.actor, users);
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
    return { created: created.size, conflicts: taken.length, unchanged, failed };
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

  private async insert(
    actor: Actor,
    users: ImportedUser[],
    { invite }: ImportOptions,
    operation_id: string,
  ): Promise<number[]> {
    const created_by = actor.actor_type === 'system' ? null : actor.user_id;
    const event = eventBase(actor, 'user.created', { operation_id });
    // A row with an unwrapped MD5 hash had a conflict before. Never store it; report the conflict.
    const ready = users.filter(({ password_hash }) => !isMd5(password_hash));
    const lines = ready.length === 0 ? [] : await this.users.create(ready, created_by, event);
    const created = new Set(lines);
    const made = ready.filter(({ line }) => created.has(line));
    const invited = made.filter(({ status }) => invite && status === 'invited');
    if (invited.length > 0) await this.mails.inviteNew(invited);
    await this.credentials.noteHashes(made.flatMap(({ password_hash }) => password_hash ?? []));
    return lines;
  }

  private async read(
    context: Omit<ImportContext, 'budget'>,
    lines: ImportLine[],
  ): Promise<{ users: ImportedUser[]; failed: FailedRow[] }> {
    const budget = await this.credentials.refusalBudget();
    const users: ImportedUser[] = [];
    const failed: FailedRow[] = [];
    for (const read of lines) {
      const user = readRow(read, { ...context, budget });
      if (Array.isArray(user)) failed.push(toFailedRow(read, user));
      else users.push(user);
    }
    return { users, failed };
  }
}
