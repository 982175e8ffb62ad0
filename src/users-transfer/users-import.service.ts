import { Injectable, Logger } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import type { Actor } from '../access/actor';
import { currentTime } from '../common/clock';
import { AppError } from '../common/errors/app-error';
import { fromDatabaseError } from '../common/errors/database-error';
import type { RawQuery } from '../common/query/filter';
import type { UploadedFile } from '../common/http/upload';
import { EventsService } from '../events/events.service';
import { IdempotencyService } from '../idempotency/idempotency.service';
import { OperationRunner } from '../operations/operation-runner.service';
import type { OperationResponse } from '../operations/operations.dto';
import { OperationsService } from '../operations/operations.service';
import { ConflictLimitService } from '../rate-limits/conflict-limit.service';
import { DryRunState } from './dry-run-state';
import { faultSize, type ImportLine, readFile } from './import-file';
import { type ImportOptions, readImportOptions } from './import-options';
import { isMd5, rowFault, shortFault } from './import-rows';
import { type FailedRow, ImportRowsService } from './import-rows.service';
import type { ImportResultResponse } from './users-transfer.dto';

/** Rows that are imported within the request. A larger import becomes an operation. */
const atOnceMax = 10_000;
const md5AtOnceMax = 100;
const rowsMax = 5_000_000;
/** Limits that keep memory and transaction of a batch small. The first limit reached applies. */
const batchMax = { rows: 1_000, characters: 1_048_576, md5: 20 };
const failedMax = 10_000;

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
  ) {}

  /**
   * Imports the users of a file, or with `dry_run` checks them.
   * @throws request.invalid, request.too_large, request.rate_limited
   */
  async import(actor: Actor, query: RawQuery, file: UploadedFile): Promise<ImportResultResponse | OperationResponse> {
    const { dry_run, ...options } = readImportOptions(query);
    return dry_run ? await this.preview(actor, options, file) : await this.create(actor, options, file);
  }

  /** Stores the rows while they are uploaded. Creates users only once the file is complete. */
  private async create(
    actor: Actor,
    options: ImportOptions,
    file: UploadedFile,
  ): Promise<ImportResultResponse | OperationResponse> {
    const request = { format: file.format, ...options };
    const operation_id = await this.operations.open(actor, {
      kind: 'import',
      permission: 'user:import',
      request,
      receiving: true,
    });
    const received = await this.receive(operation_id, file);
    if (received === null) return this.operations.get(actor, operation_id);
    const [rows, md5] = received;
    const atOnce = rows <= atOnceMax && md5 <= md5AtOnceMax;
    const accepted = await this.begin(actor, operation_id, atOnce);
    if (!atOnce || accepted.finished_at !== null) return accepted;
    // The import is accepted: the runner retries it after an error, so the request must not fail.
    await this.runner
      .finish(operation_id)
      .catch((error: unknown) => this.logger.warn(`import ${operation_id} is not finished yet: ${codeOf(error)}`));
    await this.runner.passOn('import');
    const operation = await this.operations.get(actor, operation_id);
    // Another instance continues the operation, or the operation was canceled or failed.
    if (operation.status !== 'done') return operation;
    const { changed, unchanged, skipped_count } = operation;
    const failed = (operation.skipped as FailedRow[]).map(toFailedRow);
    const result = { operation_id, created: changed, skipped: unchanged, failed_count: skipped_count, failed };
    await this.idempotency.keep(200, result);
    return result;
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
   * Stores the rows and counts them. Returns null if the operation was canceled in the meantime.
   */
  private async receive(operation_id: string, file: UploadedFile): Promise<[rows: number, md5: number] | null> {
    let [number, rows, md5] = [0, 0, 0];
    try {
      for await (const lines of batchesOf(file)) {
        if (!(await this.operations.addRows(operation_id, number++, lines))) return null;
        rows += lines.length;
        md5 += lines.filter(({ values }) => isMd5(values?.['password_hash'])).length;
        if (rows > rowsMax) throw new AppError('request.too_large');
      }
      return [rows, md5];
    } catch (error) {
      await this.operations.discard(operation_id);
      throw error;
    }
  }

  /** Checks the rows and records an event with the counts. @throws request.rate_limited */
  private async preview(actor: Actor, options: ImportOptions, file: UploadedFile): Promise<ImportResultResponse> {
    const result: ImportResultResponse = { operation_id: null, created: 0, skipped: 0, failed_count: 0, failed: [] };
    await this.conflicts.assertOpen(actor);
    const state = new DryRunState();
    let [rows, conflictCount] = [0, 0];
    for await (const lines of batchesOf(file)) {
      rows += lines.length;
      if (rows > rowsMax) throw new AppError('request.too_large');
      const { created, skipped, failed, conflicts } = await this.rows.preview(actor, lines, state, options);
      conflictCount += conflicts;
      result.created += created;
      result.skipped += skipped;
      result.failed_count += failed.length;
      result.failed.push(...failed.slice(0, failedMax - result.failed.length).map(toFailedRow));
    }
    const counts = {
      rows: { after: rows },
      would_create: { after: result.created },
      conflicts: { after: conflictCount },
    };
    await this.events.record(actor, 'user.import_previewed', { type: 'user', carrier_id: actor.carrier_id }, counts);
    return result;
  }
}

async function* batchesOf(file: UploadedFile): AsyncGenerator<ImportLine[]> {
  let batch: ImportLine[] = [];
  let [characters, md5] = [0, 0];
  for await (const read of readFile(file)) {
    const line = withoutBadContent(read);
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

/** Replaces an invalid row by its fault: many long invalid rows must not fill the database. */
function withoutBadContent({ line, values, fault, size }: ImportLine): ImportLine {
  const firstFault = fault ?? (values === undefined ? null : rowFault(values, currentTime()));
  return firstFault === null ? { line, values, size } : { line, fault: shortFault(firstFault), size: faultSize };
}

function toFailedRow({ line, pointer, reason, detail }: FailedRow): ImportResultResponse['failed'][number] {
  return { line, pointer, code: reason, detail };
}

/** Returns the code of an error. The text of a database error may contain a value of a row. */
function codeOf(error: unknown): string {
  return (error instanceof AppError ? error : fromDatabaseError(error))?.code ?? 'service.internal_error';
}
