import { Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { workOwnerOf } from '../access/admission';
import { assertFresh } from '../access/fresh';
import { assertHolds } from '../access/permissions';
import { currentTime } from '../common/clock';
import { type FieldError, invalid } from '../common/errors/app-error';
import { readBoolean } from '../common/query/boolean-parameter';
import { type Condition, parseFilter, type RawQuery } from '../common/query/filter';
import { EventsService } from '../events/events.service';
import { OperationsService } from '../operations/operations.service';
import { RolesService } from '../roles/roles.service';
import { userFilter } from '../users/users.service';
import { exportPace, paced } from './paced';
import { ignoredColumns, importColumns, transferColumns, type TransferFormat } from './transfer-columns';
import { type OpenExport, UsersExportRepository } from './users-export.repository';

/** A file that is written while the client reads it. */
export interface ExportedFile {
  name: string;
  media_type: string;
  texts: AsyncIterable<string>;
  /** aborted when the client reads too slowly; the response must then be cut off */
  late: AbortSignal;
}

/** The parsed query of an export. */
export interface ParsedExport {
  conditions: Condition[];
  format: TransferFormat;
  hashes: boolean;
  /** names of the filter parameters */
  parameters: string[];
}

const mediaTypes: Record<TransferFormat, string> = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson; charset=utf-8',
};

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
  ) {}

  /**
   * Returns the parsed query of an export if the actor may request the export.
   * @throws access.denied, request.invalid, auth.reauthentication_required
   */
  check(actor: Actor, query: RawQuery): ParsedExport {
    if (readBoolean(query, 'hashes')) assertHolds(actor, 'user:purge');
    const parsed = parseExport(query);
    if (parsed.hashes) assertFresh(actor);
    return parsed;
  }

  /**
   * Exports the users in the actor's scope that match a filter, from one snapshot.
   * Records the event before the first line, so that no export goes unrecorded. Password hashes
   * need `user:purge` and are left out for users that the actor may not change, because a hash
   * gives access to its user. A carrier, or a System User with their API keys, has one export at a
   * time, and a client that reads too slowly is disconnected, so that no client takes all places.
   * @param gone ends the export and its database query
   * @throws access.denied, request.invalid, auth.reauthentication_required, request.rate_limited,
   * service.overloaded
   */
  async export(actor: Actor, query: RawQuery, gone: AbortSignal): Promise<ExportedFile> {
    const { conditions, format, hashes, parameters } = this.check(actor, query);
    const hashes_unless_roles = hashes ? (await this.roles.grantsOf(actor)).forbidden : null;
    const holder = holderOf(actor);
    const open = await this.users.open({ holder, scope: actor, conditions, format, hashes_unless_roles }, gone);
    return this.send(open, 'users', format, format === 'csv' ? Object.keys(transferColumns) : null, () => {
      // The event contains the filter parameters without their values, which may be personal.
      const changes = {
        count: { after: open.count },
        format: { after: format },
        hashes: { after: hashes },
        filter: { after: parameters },
      };
      return this.events.record(actor, 'user.exported', { type: 'user', carrier_id: actor.carrier_id }, changes);
    });
  }

  /**
   * Exports the rows that an import skipped: their lines, errors and cells. Records the event
   * before the first line. Counts as an export of the actor.
   * @param gone ends the export and its database query
   * @throws access.denied, operation.not_found, request.rate_limited, service.overloaded
   */
  async exportSkipped(actor: Actor, operation_id: string, gone: AbortSignal): Promise<ExportedFile> {
    await this.operations.assertSkippedKept(actor, operation_id, 'user:export');
    const open = await this.users.openSkipped(holderOf(actor), operation_id, gone);
    return this.send(open, 'skipped', 'csv', [...ignoredColumns, ...Object.keys(importColumns)], () => {
      const target = { type: 'operation' as const, id: operation_id, operation_id };
      return this.events.record(actor, 'operation.skipped_exported', target, { count: { after: open.count } });
    });
  }

  private async send(
    open: OpenExport,
    name: string,
    format: TransferFormat,
    columns: string[] | null,
    record: () => Promise<void>,
  ): Promise<ExportedFile> {
    try {
      await record();
      const time = currentTime()
        .toISOString()
        .replace(/[-:]|\.\d+/g, '');
      const late = new AbortController();
      const texts = paced(await begin(open, columns), this.pace, () => late.abort());
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

/** Reads the first lines, so that an early error still becomes an error response. */
async function begin({ texts }: OpenExport, columns: string[] | null): Promise<AsyncIterable<string>> {
  const first = await texts.next();
  const header = columns === null ? '' : `${columns.join(',')}\r\n`;
  return (async function* () {
    try {
      yield `${header}${first.done === true ? '' : first.value}`;
      yield* texts;
    } finally {
      await texts.return(undefined);
    }
  })();
}

function parseExport(query: RawQuery): ParsedExport {
  const { format = 'csv', hashes, ...filters } = query;
  const errors: FieldError[] = [];
  const conditions = parseFilter(filters, userFilter, errors);
  const withHashes = readBoolean({ hashes }, 'hashes', errors);
  if (format !== 'csv' && format !== 'ndjson')
    errors.push({ parameter: 'format', code: 'parameter.malformed', detail: 'must be csv or ndjson' });
  if (withHashes && format !== 'ndjson')
    errors.push({ parameter: 'hashes', code: 'parameter.conflict', detail: 'requires format=ndjson' });
  if (errors.length > 0) throw invalid(...errors);
  return {
    conditions,
    format: format as TransferFormat,
    hashes: withHashes,
    parameters: Object.keys(filters).sort(),
  };
}
