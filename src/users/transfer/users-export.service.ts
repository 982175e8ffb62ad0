import { Injectable } from '@nestjs/common';
import type { Actor } from '../../access/actor';
import type { QueryContext } from '../../access/list-query.decorator';
import { workOwnerOf } from '../../access/admission';
import { assertFresh } from '../../access/fresh';
import { assertHolds } from '../../access/permissions';
import { currentTime } from '../../platform/clock';
import { type FieldError, invalid, limitFault } from '../../http/errors/app-error';
import { readBoolean } from '../../http/lists/boolean-parameter';
import { listMax } from '../../http/lists/filter-value';
import { parseFilter, type RawQuery } from '../../http/lists/filter';
import type { ListQuery } from '../../http/lists/list-query';
import { ChangesService } from '../../audit/changes/changes.service';
import { EventsService } from '../../audit/events.service';
import type { SkippedRowListResponse } from '../operations/operations.dto';
import { OperationsService } from '../operations/operations.service';
import { RolesService } from '../../access/roles/roles.service';
import { userFilter } from '../user-list';
import { chain } from './files/paced';
import { exportPace, paced } from './files/paced';
import {
  delimiters,
  type ExportColumn,
  exportColumns,
  ignoredColumns,
  importColumns,
  type TransferFormat,
} from './files/transfer-columns';
import { type ExportRequest, type OpenExport, UsersExportRepository } from './users-export.repository';

/** A file that is written while the client reads it. */
export interface ExportedFile {
  name: string;
  media_type: string;
  texts: AsyncIterable<string>;
  /** aborted when the client reads too slowly; the response must then be cut off */
  late: AbortSignal;
}

/** An exported file of users, with the cursor of the changes after its snapshot. */
export type ExportedUsers = ExportedFile & { changes_cursor: string };

/** The parsed query of an export. */
export interface ParsedExport extends Pick<ExportRequest, 'conditions' | 'format' | 'columns' | 'delimiter'> {
  /** whether a CSV file begins with a byte order mark */
  bom: boolean;
  hashes: boolean;
  /** the parameters as they were sent, for a link */
  sent: RawQuery;
}

const mediaTypes: Record<TransferFormat, string> = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson; charset=utf-8',
};

/** Parameters of an export that are not filters. */
const options = ['format', 'column_in', 'delimiter', 'bom', 'hashes'];

/** Exports users to a file. */
@Injectable()
export class UsersExportService {
  /** Minimum speed of a client. Tests shorten it. */
  pace = exportPace;

  constructor(
    private readonly users: UsersExportRepository,
    private readonly roles: RolesService,
    private readonly events: EventsService,
    private readonly operations: OperationsService,
    private readonly feed: ChangesService,
  ) {}

  /**
   * Exports the users in the actor's scope that match a filter, from one snapshot.
   * Records the event before the first line, so that no export goes unrecorded. Password hashes
   * need `user:purge` and are left out for users that the actor may not change, because a hash
   * gives access to its user. A carrier, or a System User with their API keys, has one export at a
   * time, and a client that reads too slowly is disconnected, so that no client takes all places.
   * @param gone ends the export and its database query
   * @throws auth.reauthentication_required, request.rate_limited, service.overloaded
   */
  async export(actor: Actor, query: ParsedExport, gone: AbortSignal): Promise<ExportedUsers> {
    const { conditions, format, columns, delimiter, bom, hashes, sent } = query;
    if (hashes) assertFresh(actor);
    const hashes_unless_roles = hashes ? (await this.roles.grantsOf(actor)).forbidden : null;
    const holder = holderOf(actor);
    // The roles of a user decide about the hash, so hashes are only read from the primary.
    const { reads, changes_cursor } = await this.feed.beginCopy(hashes ? null : actor);
    const request = { holder, scope: actor, conditions, format, columns, delimiter, hashes_unless_roles };
    const open = await this.users.open(request, gone, reads);
    const header = format === 'csv' ? `${bom ? '\ufeff' : ''}${columns.join(delimiter)}\r\n` : '';
    const file = await this.send(open, 'users', format, header, () => {
      // The event contains the filter parameters without their values, which may be personal.
      const changes = {
        count: { after: open.count },
        format: { after: format },
        hashes: { after: hashes },
        filter: {
          after: Object.keys(sent)
            .filter((name) => !options.includes(name))
            .sort(),
        },
      };
      return this.events.record(actor, 'user.exported', { carrier_id: actor.carrier_id }, changes);
    });
    return { ...file, changes_cursor };
  }

  /**
   * Returns one page of the rows that an import skipped, or with `Accept: text/csv` a file with the
   * lines, errors and cells of all rows. Records the event before the first line. A file counts as
   * an export of the actor.
   * @param sent query parameters as sent; none may be sent for a file
   * @param accept header `Accept`
   * @param gone ends the download and its database query
   * @throws access.denied, operation.not_found, request.invalid, request.rate_limited,
   * service.overloaded
   */
  async getSkipped(
    actor: Actor,
    operation_id: string,
    query: ListQuery,
    sent: RawQuery,
    accept: string,
    gone: AbortSignal,
  ): Promise<SkippedRowListResponse | ExportedFile> {
    if (!accept.includes('text/csv')) return this.operations.listSkipped(actor, operation_id, query);
    const detail = 'cannot be combined with `Accept: text/csv`, which returns all rows';
    const parameters = Object.keys(sent);
    if (parameters.length > 0)
      throw invalid(...parameters.map((parameter) => ({ parameter, code: 'parameter.conflict', detail })));
    await this.operations.assertSkippedKept(actor, operation_id, 'user:export');
    const open = await this.users.openSkipped(holderOf(actor), operation_id, gone);
    const header = `${[...ignoredColumns, ...Object.keys(importColumns)].join(',')}\r\n`;
    return this.send(open, 'skipped', 'csv', header, () => {
      const target = { id: operation_id, operation_id };
      return this.events.record(actor, 'operation.skipped_exported', target, { count: { after: open.count } });
    });
  }

  private async send(
    open: OpenExport,
    name: string,
    format: TransferFormat,
    header: string,
    record: () => Promise<void>,
  ): Promise<ExportedFile> {
    try {
      await record();
      const time = currentTime()
        .toISOString()
        .replace(/[-:]|\.\d+/g, '');
      const late = new AbortController();
      // Reads the first lines now, so that an early error still becomes an error response.
      const first = await open.texts.next();
      const all = chain(`${header}${first.done === true ? '' : first.value}`, open.texts);
      const texts = paced(all, this.pace, () => late.abort());
      return { name: `${name}-${time}.${format}`, media_type: mediaTypes[format], texts, late: late.signal };
    } catch (error) {
      await open.close();
      throw error;
    }
  }
}

/** Returns the holder of an export: the carrier, or a System User with their API keys. */
function holderOf(actor: Actor): string {
  const { carrier, user } = workOwnerOf(actor);
  return carrier ?? user;
}

/**
 * Parses the query of an export.
 * @throws access.denied, request.invalid
 */
export function parseExport(query: RawQuery, { actor }: Pick<QueryContext, 'actor'>): ParsedExport {
  if (readBoolean(query, 'hashes')) assertHolds(actor, 'user:purge');
  const { format = 'csv', column_in, delimiter = 'comma', bom, hashes, ...filters } = query;
  const errors: FieldError[] = [];
  const conditions = parseFilter(filters, userFilter, errors);
  const withHashes = readBoolean({ hashes }, 'hashes', errors);
  if (format !== 'csv' && format !== 'ndjson')
    errors.push({ parameter: 'format', ...limitFault('parameter.malformed', { allowed: ['csv', 'ndjson'] }) });
  const withBom = readBoolean({ bom }, 'bom', errors);
  const columns = typeof column_in === 'string' ? column_in.split(',') : column_in === undefined ? exportColumns : [];
  if (columns.length === 0 || columns.length > listMax || !columns.every(isColumn))
    errors.push({ parameter: 'column_in', ...limitFault('parameter.malformed', { allowed: exportColumns }) });
  if (typeof delimiter !== 'string' || !Object.hasOwn(delimiters, delimiter))
    errors.push({ parameter: 'delimiter', ...limitFault('parameter.malformed', { allowed: Object.keys(delimiters) }) });
  for (const parameter of format === 'ndjson' ? ['delimiter', 'bom'] : [])
    if (query[parameter] !== undefined)
      errors.push({ parameter, code: 'parameter.conflict', detail: 'requires format=csv' });
  if (withHashes && format !== 'ndjson')
    errors.push({ parameter: 'hashes', code: 'parameter.conflict', detail: 'requires format=ndjson' });
  if (errors.length > 0) throw invalid(...errors);
  return {
    ...{ conditions, format: format as TransferFormat, columns: [...new Set(columns as ExportColumn[])], sent: query },
    ...{ delimiter: delimiters[delimiter as keyof typeof delimiters], bom: withBom, hashes: withHashes },
  };
}

function isColumn(name: string): name is ExportColumn {
  return (exportColumns as readonly string[]).includes(name);
}
