import { Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { currentTime } from '../common/clock';
import type { FieldError } from '../common/errors/app-error';
import { shortHash } from '../common/random';
import { EventsService } from '../events/events.service';
import { RolesService } from '../roles/roles.service';
import { UserMailsService } from '../users/user-mails.service';
import type { ImportLine } from './import-file';
import { type ImportedUser, type Judge, judge } from './import-rows';
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

const takenCodes: Record<Conflict['field'], string> = { user_id: 'field.not_allowed', name: 'user.name_taken', email: 'user.email_taken' };

/** Rows of an import: which users they become, and creating these. */
@Injectable()
export class ImportRowsService {
  constructor(
    private readonly users: UsersImportRepository,
    private readonly roles: RolesService,
    private readonly events: EventsService,
    private readonly mails: UserMailsService,
  ) {}

  /** Creates the users of rows, in the current transaction. */
  async create(
    actor: Actor,
    lines: ImportLine[],
    wrapped: Map<number, string>,
    options: ImportOptions,
    operation_id: string,
  ): Promise<RowsOutcome> {
    const { users, failed } = this.judge({ actor, grants: await this.roles.frozenGrantsOf(actor) }, lines, wrapped);
    const created_by = actor.actor_type === 'system' ? null : actor.user_id;
    const events = this.events.recordAll(actor, 'user.created', 'user', createdTargets, operation_id);
    const made = new Set(users.length === 0 ? [] : await this.users.create(users, created_by, events));
    if (options.invite) {
      const invited = users.filter(({ line, status }) => made.has(line) && status === 'invited').map(({ user_id }) => user_id);
      if (invited.length > 0) await this.mails.inviteNew(invited);
    }
    const left = users.filter(({ line }) => !made.has(line));
    const conflicts = left.length === 0 ? [] : await this.users.findConflicts(left);
    return { created: made.size, ...this.settle(left, conflicts, failed, options) };
  }

  /** What `create` would do, without doing it. `taken` remembers what earlier rows of the file would have taken. */
  async preview(actor: Actor, lines: ImportLine[], taken: TakenInFile, options: ImportOptions): Promise<RowsOutcome> {
    const { users, failed } = this.judge({ actor, grants: await this.roles.grantsOf(actor) }, lines, new Map());
    const inDatabase = users.length === 0 ? [] : await this.users.findConflicts(users);
    const byLine = new Map(inDatabase.map((conflict) => [conflict.line, conflict]));
    const conflicts = users.flatMap((user) => {
      const conflict = byLine.get(user.line) ?? taken.take(user);
      return conflict === null ? [] : [conflict];
    });
    const inTheWay = new Set(conflicts.map(({ line }) => line));
    const left = users.filter(({ line }) => inTheWay.has(line));
    return { created: users.length - left.length, ...this.settle(left, conflicts, failed, options) };
  }

  private judge(
    { actor, grants }: Pick<Judge, 'actor' | 'grants'>,
    lines: ImportLine[],
    wrapped: Map<number, string>,
  ): { users: ImportedUser[]; failed: FailedRow[] } {
    const judged = { actor, grants, now: currentTime(), wrapped };
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

const pointerMax = 256;
const unreadable: FieldError = { pointer: '', code: 'field.malformed', detail: 'cannot be read' };

function toFailed(line: number, { pointer = '', code, detail }: FieldError): FailedRow {
  // a name of a field that is none may be as long as a row, and what is kept of 10,000 rows is kept in one place
  return { line, pointer: pointer.length > pointerMax ? '' : pointer, reason: code, detail };
}

/** Which ids, names and addresses the rows of a file so far have: as numbers, since there may be millions. */
export class TakenInFile {
  private readonly seen = new Set<number>();

  /** Remembers what a user has; if an earlier one has it already, what it is, and nothing is remembered. */
  take({ line, user_id, name, email }: ImportedUser): Conflict | null {
    const keys = {
      user_id: shortHash(`i${user_id}`),
      name: shortHash(`n${name.toLowerCase()}`),
      email: shortHash(`e${email.toLowerCase()}`),
    };
    const [field] = (['user_id', 'name', 'email'] as const).filter((one) => this.seen.has(keys[one]));
    if (field !== undefined) return { line, field };
    Object.values(keys).forEach((key) => this.seen.add(key));
    return null;
  }
}
