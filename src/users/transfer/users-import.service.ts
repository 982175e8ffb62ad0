import { Injectable, Logger } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import type { Actor } from '../../access/actor';
import { assertFresh } from '../../access/fresh';
import { currentTime } from '../../platform/clock';
import { AppError } from '../../http/errors/app-error';
import { fromDatabaseError } from '../../http/errors/database-error';
import { readBoolean } from '../../http/lists/boolean-parameter';
import type { RawQuery } from '../../http/lists/filter';
import type { UploadedFile } from '../../http/bodies/upload';
import { EventsService } from '../../audit/events.service';
import { IdempotencyService } from '../../http/idempotency/idempotency.service';
import { OperationRunner } from '../operations/operation-runner.service';
import type { OperationResponse } from '../operations/operations.dto';
import { OperationsService } from '../operations/operations.service';
import { skippedLimits } from '../operations/operation-queues';
import { UserMailsService } from '../mails/user-mails.service';
import { ConflictLimitService } from '../../access/rate-limits/conflict-limit.service';
import { addFailed, cellsOf, emptySummary } from './files/failed-rows';
import { faultSize, type ImportLine, readFile } from './files/import-file';
import { faultsOf, type ImportOptions, isMd5 } from './import-rows';
import { ImportRowsService } from './import-rows.service';
import type { ImportPreviewResponse } from './users-transfer.dto';

/** Rows that are imported within the request. A larger import becomes an operation. */
const atOnceMax = 10_000;
const md5AtOnceMax = 100;
const rowsMax = 5_000_000;
/** Limits that keep memory and transaction of a batch small. The first limit reached applies. */
const batchMax = { rows: 1_000, characters: 1_048_576, md5: 20 };

/** Imports users from a file. */
@Injectable()
export class UsersImportService {
  private readonly logger = new Logger(UsersImportService.name);

  constructor(
    private readonly operations: OperationsService,
    private readonly runner: OperationRunner,
    private readonly rows: ImportRowsService,
    private readonly idempotency: IdempotencyService,
    private readonly events: EventsService,
    private readonly conflicts: ConflictLimitService,
    private readonly mails: UserMailsService,
  ) {}

  /**
   * Imports the users of a file, or with `dry_run` checks them.
   * @throws request.invalid, request.too_large, request.rate_limited
   */
  async import(actor: Actor, query: RawQuery, file: UploadedFile): Promise<ImportPreviewResponse | OperationResponse> {
    // The guard of the route has checked the parameters.
    const on_conflict = query['on_conflict'] === 'skip' ? ('skip' as const) : ('fail' as const);
    const options = { on_conflict, invite: readBoolean(query, 'invite') };
    if (readBoolean(query, 'dry_run')) return this.preview(actor, options, file);
    assertFresh(actor);
    return this.create(actor, options, file);
  }

  /** Stores the rows while they are uploaded. Creates users only once the file is complete. */
  private async create(actor: Actor, options: ImportOptions, file: UploadedFile): Promise<OperationResponse> {
    const request = { format: file.format, ...options };
    const operation_id = await this.operations.openUpload(actor, {
      kind: 'import',
      permission: 'user:import',
      request,
    });
    const received = await this.receive(actor, operation_id, file);
    if (received === null) return this.operations.get(actor, operation_id);
    const [rows, md5] = received;
    const atOnce = rows <= atOnceMax && md5 <= md5AtOnceMax;
    const accepted = await this.begin(actor, operation_id, atOnce);
    if (!atOnce || accepted.finished_at !== null) return accepted;
    // The import is accepted: the runner retries it after an error, so the request must not fail.
    await this.runner
      .finish(operation_id)
      .catch((error: unknown) => this.logger.warn(`import ${operation_id} is not finished yet: ${codeOf(error)}`));
    const operation = await this.operations.get(actor, operation_id);
    // Otherwise another instance continues the operation, or the operation was canceled or failed.
    if (operation.status === 'done') await this.idempotency.keep(200, operation);
    return operation;
  }

  /**
   * Accepts the import. From here on, the import survives a crash: a retried request returns the
   * operation until there is a result.
   */
  @Transactional()
  private async begin(actor: Actor, operation_id: string, atOnce: boolean): Promise<OperationResponse> {
    const operation = atOnce
      ? await this.operations.begin(actor, operation_id)
      : await this.operations.accept(actor, operation_id);
    await this.idempotency.keep(202, operation);
    return operation;
  }

  /**
   * Stores the rows and counts them. Reads the next batch while the database stores the previous
   * one. Each batch takes a place of the `Admission`, because the client may send slowly.
   * Returns null if the operation was canceled in the meantime.
   */
  private async receive(
    actor: Actor,
    operation_id: string,
    file: UploadedFile,
  ): Promise<[rows: number, md5: number] | null> {
    let [number, rows, md5] = [0, 0, 0];
    let stored = Promise.resolve(true);
    try {
      for await (const lines of batchesOf(file)) {
        if (!(await stored)) return null;
        stored = this.operations.addRows(actor, operation_id, number++, lines);
        // The next `await` reports the error.
        stored.catch(() => undefined);
        rows += lines.length;
        md5 += lines.filter(({ values }) => isMd5(values?.['password_hash'])).length;
        if (rows > rowsMax) throw new AppError('request.too_large');
      }
      return (await stored) ? [rows, md5] : null;
    } catch (error) {
      await stored.catch(() => undefined);
      // Without a place now, the runner removes the operation later.
      await this.operations.discard(actor, operation_id).catch(() => undefined);
      throw error;
    }
  }

  /** Checks the rows and records an event with the counts. @throws request.rate_limited */
  private async preview(actor: Actor, options: ImportOptions, file: UploadedFile): Promise<ImportPreviewResponse> {
    await this.conflicts.assertOpen(actor);
    const result = { matched: 0, would_create: 0, unchanged: 0, mails: 0 };
    const summary = emptySummary();
    let conflictCount = 0;
    for await (const lines of batchesOf(file)) {
      result.matched += lines.length;
      if (result.matched > rowsMax) throw new AppError('request.too_large');
      const { created, unchanged, failed, conflicts, invited } = await this.rows.preview(actor, lines, options);
      conflictCount += conflicts;
      result.would_create += created;
      result.unchanged += unchanged;
      result.mails += invited;
      addFailed(summary, failed);
    }
    const counts = {
      rows: { after: result.matched },
      would_create: { after: result.would_create },
      conflicts: { after: conflictCount },
    };
    await this.events.record(actor, 'user.import_previewed', { carrier_id: actor.carrier_id }, counts);
    const mails_seconds = await this.mails.secondsFor(result.mails);
    return { kind: 'preview', ...result, mails_seconds, ...summary };
  }
}

async function* batchesOf(file: UploadedFile): AsyncGenerator<ImportLine[]> {
  let batch: ImportLine[] = [];
  let [characters, md5] = [0, 0];
  const left = { ...skippedLimits };
  for await (const read of readFile(file)) {
    const line = withoutBadContent(read, left);
    batch.push(line);
    characters += line.size;
    if (isMd5(line.values?.['password_hash'])) md5++;
    if (batch.length < batchMax.rows && characters < batchMax.characters && md5 < batchMax.md5) continue;
    yield batch;
    batch = [];
    [characters, md5] = [0, 0];
  }
  if (batch.length > 0) yield batch;
}

/**
 * Replaces an invalid row by its faults and, within the limits of the operation, its cells: many
 * long invalid rows must not fill the database. Subtracts the row from the limits.
 */
function withoutBadContent(read: ImportLine, left: typeof skippedLimits): ImportLine {
  const { line, values, size } = read;
  const faults = faultsOf(read, currentTime());
  if (faults.length === 0 && values !== undefined) return { line, values, size };
  if (left.rows <= 0 || left.bytes <= 0) return { line, faults: faults.slice(0, 1), size: faultSize };
  const cells = cellsOf(values) ?? undefined;
  left.rows--;
  left.bytes -= JSON.stringify([faults, cells]).length;
  return { line, faults, cells, size: size + faultSize };
}

/** Returns the code of an error. The text of a database error may contain a value of a row. */
function codeOf(error: unknown): string {
  return (error instanceof AppError ? error : fromDatabaseError(error))?.code ?? 'service.internal_error';
}
