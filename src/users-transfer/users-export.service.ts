import { Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { holds } from '../access/permissions';
import { currentTime } from '../common/clock';
import { AppError, type FieldError, invalid } from '../common/errors/app-error';
import { readBoolean } from '../common/query/boolean-parameter';
import { parseFilter, type RawQuery } from '../common/query/filter';
import { filterSql } from '../common/query/filter.sql';
import { sql } from '../common/query/sql';
import { EventsService } from '../events/events.service';
import { RolesService } from '../roles/roles.service';
import { userFilterSql } from '../users/user-list.sql';
import { userFilter } from '../users/users.service';
import { visibleUsers } from '../users/users.sql';
import { exportPace, paced } from './paced';
import { transferColumns, type TransferFormat } from './transfer-columns';
import { type ExportWish, type FoundUsers, UsersExportRepository } from './users-export.repository';

/** A file that is written while it is read. */
export interface ExportedFile {
  name: string;
  media_type: string;
  texts: AsyncIterable<string>;
  /** aborted when the reader is too slow: the file is to be broken off */
  late: AbortSignal;
}

const mediaTypes: Record<TransferFormat, string> = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson; charset=utf-8',
};

/** Taking users out into a file. */
@Injectable()
export class UsersExportService {
  /** How slowly a reader may take a file. Tests shorten it. */
  pace = exportPace;

  constructor(
    private readonly users: UsersExportRepository,
    private readonly roles: RolesService,
    private readonly events: EventsService,
  ) {}

  /**
   * The users that a filter finds within the actor's scope, as they are at this moment. Recorded
   * before the first line is given out, so that nothing leaves unnoticed. Password hashes need
   * `user:purge`, and are left out for users whom the actor may not touch: a hash is the way into
   * their account. One export per actor at a time; a reader that is too slow is cut, so that a few
   * clients cannot take all places for ever.
   * @param gone ends the export, and whatever the database is doing for it
   * @throws access.denied, request.invalid, request.rate_limited, service.overloaded
   */
  async export(actor: Actor, query: RawQuery, gone: AbortSignal): Promise<ExportedFile> {
    if (readBoolean(query, 'hashes') && !holds(actor.permissions, 'user:purge')) throw new AppError('access.denied');
    const { format, hashes, fields, condition } = parseExport(query);
    const hashes_unless_roles = hashes ? (await this.roles.grantsOf(actor)).forbidden : null;
    const visible = sql`users.deleted_at is null and ${visibleUsers(actor)} and ${condition}`;
    const holder = `${actor.actor_type}:${actor.user_id}`;
    const found = await this.users.open({ holder, condition: visible, format, hashes_unless_roles }, gone);
    try {
      // which fields were asked for, not the values: those may be somebody's name
      const changes = {
        count: { after: found.count },
        format: { after: format },
        hashes: { after: hashes },
        filter: { after: fields },
      };
      await this.events.record(actor, 'user.exported', { type: 'user', carrier_id: actor.carrier_id }, changes);
      const name = `users-${currentTime()
        .toISOString()
        .replace(/[-:]|\.\d+/g, '')}.${format}`;
      const late = new AbortController();
      const texts = paced(await begin(found, format), this.pace, () => late.abort());
      return { name, media_type: mediaTypes[format], texts, late: late.signal };
    } catch (error) {
      await found.close();
      throw error;
    }
  }
}

/** Reads the first lines, so that what goes wrong until then is an answer and not half a file. */
async function begin({ texts }: FoundUsers, format: TransferFormat): Promise<AsyncIterable<string>> {
  const first = await texts.next();
  const header = format === 'csv' ? `${Object.keys(transferColumns).join(',')}\r\n` : '';
  return (async function* () {
    try {
      yield `${header}${first.done === true ? '' : first.value}`;
      yield* texts;
    } finally {
      await texts.return(undefined);
    }
  })();
}

interface ParsedExport extends Pick<ExportWish, 'condition' | 'format'> {
  hashes: boolean;
  /** names of the filter parameters */
  fields: string[];
}

function parseExport(query: RawQuery): ParsedExport {
  const { format = 'csv', hashes: wanted, ...filters } = query;
  const errors: FieldError[] = [];
  const conditions = parseFilter(filters, userFilter, errors);
  if (format !== 'csv' && format !== 'ndjson')
    errors.push({ parameter: 'format', code: 'parameter.malformed', detail: 'must be csv or ndjson' });
  const hashes = readBoolean({ hashes: wanted }, 'hashes', errors);
  if (hashes && format !== 'ndjson')
    errors.push({ parameter: 'hashes', code: 'parameter.conflict', detail: 'needs format=ndjson' });
  if (errors.length > 0) throw invalid(...errors);
  return {
    format: format as TransferFormat,
    hashes,
    fields: Object.keys(filters).sort(),
    condition: filterSql(conditions, userFilterSql),
  };
}
