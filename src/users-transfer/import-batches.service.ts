import { Injectable, type OnModuleInit } from '@nestjs/common';
import { CredentialsService } from '../credentials/credentials.service';
import { type BatchOutcome, type OperationRecord, OperationRunner } from '../operations/operation-runner.service';
import { OperationsService } from '../operations/operations.service';
import { RememberedActorsService } from '../logins/remembered-actors.service';
import { addFailed, emptySummary } from './failed-rows';
import type { ImportLine } from './import-file';
import type { ImportOptions } from './import-options';
import { isMd5 } from './import-rows';
import { ImportRowsService } from './import-rows.service';
import { importRows } from './users-transfer.metrics';

interface Prepared {
  lines: ImportLine[];
  wrapped: Map<number, string>;
}

/** Creates the users of a batch of rows, with the permissions that the actor has at that time. */
@Injectable()
export class ImportBatchesService implements OnModuleInit {
  constructor(
    private readonly runner: OperationRunner,
    private readonly operations: OperationsService,
    private readonly actors: RememberedActorsService,
    private readonly credentials: CredentialsService,
    private readonly rows: ImportRowsService,
  ) {}

  onModuleInit(): void {
    this.runner.handle('import', {
      prepare: (operation, number) => this.prepare(operation, number),
      run: (operation, _number, prepared) => this.run(operation, prepared as Prepared),
      committed: countRows,
    });
  }

  /** Wraps the MD5 hashes of rows that can become users. A failed row must cost no hash (L21). */
  private async prepare(operation: OperationRecord, number: number): Promise<Prepared> {
    const lines = (await this.operations.rowsOf(operation.operation_id, number)) as ImportLine[];
    const wrapped = new Map<number, string>();
    const withMd5 = lines.filter(({ values }) => isMd5(values?.['password_hash']));
    if (withMd5.length === 0) return { lines, wrapped };
    for (const { line, password_hash } of await this.rows.findCreatable(await this.actors.of(operation), withMd5))
      if (isMd5(password_hash)) wrapped.set(line, await this.credentials.wrapMd5(password_hash));
    return { lines, wrapped };
  }

  private async run(operation: OperationRecord, { lines, wrapped }: Prepared): Promise<BatchOutcome> {
    const options = operation.request as unknown as ImportOptions;
    const { created, unchanged, failed } = await this.rows.create(
      await this.actors.of(operation),
      lines,
      wrapped,
      options,
      operation.operation_id,
    );
    const { skipped: listed, ...counts } = addFailed(emptySummary(), failed);
    return {
      processed: lines.length,
      changed: created,
      unchanged,
      ...counts,
      skipped: listed.map((row) => ({ ...row })),
      skipped_rows: failed,
    };
  }
}

function countRows({ changed, unchanged, skipped_count }: BatchOutcome): void {
  importRows.inc({ outcome: 'created' }, changed);
  importRows.inc({ outcome: 'unchanged' }, unchanged);
  importRows.inc({ outcome: 'failed' }, skipped_count);
}
