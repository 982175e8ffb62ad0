import { Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { invalid } from '../common/errors/app-error';
import type { RawQuery } from '../common/query/filter';
import type { SkippedRowListResponse } from '../operations/operations.dto';
import { OperationsService } from '../operations/operations.service';
import { type ExportedFile, UsersExportService } from './users-export.service';

/** A request for the rows that an import skipped. */
export interface SkippedRowsRequest {
  operation_id: string;
  query: RawQuery;
  /** header `Accept` */
  accept: string | undefined;
}

/** Returns the rows that an import skipped, as a page or as a file. */
@Injectable()
export class SkippedRowsService {
  constructor(
    private readonly operations: OperationsService,
    private readonly exports: UsersExportService,
  ) {}

  /**
   * Returns one page of the rows, or with `Accept: text/csv` a file with all of them.
   * @param gone ends the download and its database query
   * @throws access.denied, operation.not_found, page.cursor_invalid, request.invalid,
   * request.rate_limited, service.overloaded
   */
  async get(
    actor: Actor,
    { operation_id, query, accept = '' }: SkippedRowsRequest,
    gone: AbortSignal,
  ): Promise<SkippedRowListResponse | ExportedFile> {
    if (!accept.includes('text/csv')) return this.operations.listSkipped(actor, operation_id, query);
    const errors = Object.keys(query).map((parameter) => ({
      parameter,
      code: 'parameter.conflict',
      detail: 'cannot be combined with `Accept: text/csv`, which returns all rows',
    }));
    if (errors.length > 0) throw invalid(...errors);
    return this.exports.exportSkipped(actor, operation_id, gone);
  }
}
