import { Readable } from 'node:stream';
import {
  Controller,
  Get,
  Headers,
  HttpCode,
  Param,
  Post,
  Query,
  Res,
  StreamableFile,
  UseInterceptors,
} from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Actor, Caller } from '../../access/actor';
import { Allow, Public } from '../../access/allow.decorator';
import { CurrentActor, CurrentCaller } from '../../access/caller.decorator';
import { ListQuery, ParsedQuery } from '../../access/list-query.decorator';
import { changesCursorHeader } from '../../audit/changes/changes.dto';
import { LongWork } from '../../access/long-work.decorator';
import { ClientGone } from '../../http/client-gone.decorator';
import { listMax } from '../../http/lists/filter-value';
import { Endpoint } from '../../http/endpoint.decorator';
import { PathId } from '../../http/fields/path-id.decorator';
import type { RawQuery } from '../../http/lists/filter';
import type { Answered } from '../../platform/times';
import { filterParameters, type ParameterDoc } from '../../http/lists/parameters';
import { namedEnum } from '../../platform/named-enum';
import { Upload, UploadedFile } from '../../http/bodies/upload';
import { Idempotent } from '../../http/idempotency/idempotent.decorator';
import { OperationHeadersInterceptor } from '../operations/operation-headers.interceptor';
import { OperationResponse, SkippedRowListResponse } from '../operations/operations.dto';
import { readerOf } from '../operations/operations.service';
import { skippedRowList } from '../operations/operation-list';
import { userFilter } from '../user-list';
import { ExportLinksService } from './export-links.service';
import {
  type ExportedFile,
  type ExportedUsers,
  type ParsedExport,
  parseExport,
  UsersExportService,
} from './users-export.service';
import { UsersImportService } from './users-import.service';
import { delimiters, exportColumns, importColumns, transferFormats } from './files/transfer-columns';
import { ExportLinkResponse, ImportPreviewResponse } from './users-transfer.dto';

const exportParameters: ParameterDoc[] = [
  {
    name: 'format',
    description: 'Format of the file',
    schema: { type: 'string', enum: transferFormats, default: 'csv' },
  },
  {
    name: 'column_in',
    description: 'Columns of the file, in this order; all by default. Names that repeat are ignored',
    schema: { type: 'array', items: { type: 'string', enum: exportColumns }, minItems: 1, maxItems: listMax },
    style: 'form',
    explode: false,
  },
  {
    name: 'delimiter',
    description: 'Character between the cells of a CSV file. Spreadsheets in German expect `semicolon`',
    /** Character between the cells of a CSV file. */
    schema: { type: 'string', enum: namedEnum('CsvDelimiter', Object.keys(delimiters)), default: 'comma' },
  },
  {
    name: 'bom',
    description: '`true`: begins a CSV file with a byte order mark, so that Excel reads it as UTF-8',
    schema: { type: 'boolean', default: false },
  },
  {
    name: 'hashes',
    description:
      '`true`: includes `password_hash`, except of users that the caller may not change; ' +
      'requires `user:purge` and `format=ndjson`',
    schema: { type: 'boolean', default: false },
  },
  ...filterParameters(userFilter),
];

const importParameters: ParameterDoc[] = [
  {
    name: 'dry_run',
    description:
      '`true`: checks all rows and their conflicts with users, but creates no users; recorded in the audit log',
    schema: { type: 'boolean', default: false },
  },
  {
    name: 'on_conflict',
    description: 'Outcome of a row whose name, e-mail address or id is taken',
    /** Outcome of a row that conflicts with an existing user. */
    schema: { type: 'string', enum: namedEnum('ConflictRule', ['fail', 'skip']), default: 'fail' },
  },
  {
    name: 'invite',
    description: '`true`: invites each new user without a password by mail',
    schema: { type: 'boolean', default: false },
  },
];

const columns = Object.keys(importColumns)
  .map((name) => `\`${name}\``)
  .join(', ');

const exportDescription = [
  'Exports all users in the scope of the caller that match the filter, from one snapshot, in the order of their ids. ' +
    'The filters are those of `GET /user/list`, including `attributes.<key>`. ' +
    'An import accepts the columns of an export, with any delimiter and with or without a byte order mark.',
  'CSV follows RFC 4180 with a header line. An empty cell is no value. `attributes` is JSON. ' +
    'Lists are plain text with `;` between the items; a list that is empty, or that a spreadsheet would change to a ' +
    'number or date, is JSON. ' +
    'A cell that a spreadsheet would run as a formula (`= + - @`, tab or line break, also after apostrophes) ' +
    'gets one more apostrophe, which an import removes. The same applies to each part of a cell after `;`, tab or ' +
    'line break, where spreadsheets of some languages split cells; in `attributes`, the `;` becomes `\\u003b`.',
  'A carrier, or a System User with their API keys, has one export at a time; a second export returns 429. ' +
    'A client that reads nothing for 30 seconds, or less than 16 KiB per second for long, is disconnected.',
  'The audit log records each export. If an export fails midway, the connection closes before the end of the body.',
].join('\n');

const linkDescription = [
  'Returns a link with which a browser can download an export without an access token. ' +
    'Takes the query parameters of `GET /user/export`.',
  'The link works once, within 60 seconds. A session has at most one unused link: a newer link replaces it. ' +
    'The link stops working when the session ends or the user is disabled. ' +
    'The download contains what `GET /user/export` would return to the caller at that time.',
].join('\n');

const importDescription = [
  'Accepts CSV (RFC 4180, UTF-8, with a header line) or NDJSON, as an export writes them. ' +
    '`user_type`, `name` and `email` are required. ' +
    `The columns: ${columns}. ` +
    'At most 5,000,000 rows of at most 131,072 characters each, and at most 4 GiB (413).',
  'CSV as spreadsheets write it: the delimiter is `,`, `;` or tab, as in the header line or in a first line such as ' +
    '`sep=;`. A byte order mark, quoted line breaks, rows of empty cells and missing cells at the end of a row are ' +
    'accepted. An empty cell is no value. `roles`, `carrier_scope` and `allowed_ips` are plain text with `;` between ' +
    'the items (`carrier_user;carrier_administrator`), or JSON; `attributes` is JSON. ' +
    'The columns `import_line` and `import_errors` are ignored.',
  'Each row succeeds or fails on its own, by the rules of `POST /user/create`. ' +
    'A file that cannot be read creates no users. The response is the operation, with the first 100 failed rows in ' +
    '`skipped`. Up to 10,000 rows (100 with an MD5 hash) are imported within the request (200); ' +
    'a larger or delayed import continues in the background (202). ' +
    '`GET /user/operation/{operation_id}/skipped` returns all failed rows, as a CSV file to correct and import.',
  'A dry run compares the rows with the stored users, not with each other: only the import itself reports rows ' +
    'with the same name, address or id. Its response lists the first 100 failed rows.',
  'The users and API keys of a carrier together learn of at most 100 conflicts per hour with names, addresses and ' +
    'ids outside their scope; without a carrier, a user and the keys that they created. After that, all further rows ' +
    'fail with `request.rate_limited`, and another dry run returns 429. Callers who can list all users have no limit.',
  'Password hashes: Argon2, bcrypt, scrypt and PBKDF2 in their standard text forms, and MD5 in hexadecimal, which is ' +
    'wrapped in Argon2id. Costlier hashes fail with `password_hash.too_costly`: bcrypt beyond cost 12; PBKDF2 beyond ' +
    '1,300,000 (SHA-1), 1,200,000 (SHA-256) or 600,000 (SHA-512) iterations; scrypt beyond N × r × p = 1,048,576; ' +
    'Argon2 beyond 128 MiB or m × t = 524,288 KiB. The limit of Argon2 also applies to the sum of the ' +
    'parameter sets of all stored Argon2 hashes, and the limit of scrypt to those of scrypt. ' +
    'Only System Users without `carrier_scope` can import hashes other than MD5, ' +
    'because they increase the cost of each rejected login. ' +
    'The first login replaces the hash; if the password policy rejects the password, the user must change it. ' +
    'A user without a hash is `invited` or `disabled`.',
].join('\n');

const skippedDescription = [
  'Returns the rows of a file that created no user, each with all of its errors and its cells. ' +
    'With `Accept: text/csv`, the response is a file with all rows: correct the cells and import the file again. ' +
    '`import_line` is the line in the imported file, `import_errors` names the errors; an import ignores both.',
  'An import keeps its first 100,000 failed rows, up to 64 MiB. `skipped_count` counts all of them. ' +
    'The rows are removed 30 days after the end of the import (`skipped_until`). While the import is running, the ' +
    'response has the rows that have failed so far.',
  'Password hashes are not kept. In a row that had one, `password_hash` is `(removed)`: ' +
    'insert the hash again, or clear the cell to invite the user. Hashes in other columns are also replaced; ' +
    'only hashes within longer texts, such as `attributes`, are not recognized. Unknown fields are not kept either. ' +
    'The cells are empty if the row could not be read, and after a purge of a user in the row.',
  'Requires the same permission as the import. Callers see the rows of their own imports; ' +
    'System Users without a carrier scope see the rows of all imports. ' +
    'Rows of an import of another caller also require `user:read`, and the file `user:export`; ' +
    'without it, the response is 404. ' +
    'The audit log records each download. A download counts as an export.',
].join('\n');

const exportResponse = {
  status: 200,
  description: 'The file',
  media: ['text/csv', 'application/x-ndjson'],
  headers: { 'Content-Disposition': 'Name of the file', ...changesCursorHeader },
};

// One type for both responses, because many generated clients have one type for all success
// responses. The operation has the kind `import`.
const importResponse = {
  name: 'ImportResponse',
  description: 'The operation of an import, or its preview, by `kind`',
  discriminator: 'kind',
  types: { preview: ImportPreviewResponse, import: OperationResponse },
};

/** Routes to import and export users. */
@ApiTags('Import and export')
@Controller('user')
@UseInterceptors(OperationHeadersInterceptor)
export class UsersTransferController {
  constructor(
    private readonly exports: UsersExportService,
    private readonly links: ExportLinksService,
    private readonly imports: UsersImportService,
  ) {}

  /** Export the users that match a filter */
  @Get('export')
  @Allow('user:export', { fresh: '`hashes` is true' })
  @Endpoint({
    description: exportDescription,
    answer: exportResponse,
    errors: ['request.rate_limited', 'service.overloaded'],
  })
  async exportUsers(
    @CurrentActor() actor: Actor,
    @ParsedQuery(parseExport, exportParameters) query: ParsedExport,
    @ClientGone() gone: AbortSignal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<StreamableFile> {
    return toUsersFile(await this.exports.export(actor, query, gone), reply);
  }

  /** Create a one-time link to an export */
  @Post('export/link')
  @Allow('user:export', { apiKeys: false, fresh: '`hashes` is true' })
  @Endpoint({
    description: linkDescription,
    answer: { status: 201, type: ExportLinkResponse, description: 'The link' },
    withoutBody: true,
  })
  createExportLink(
    @CurrentActor() actor: Actor,
    @ParsedQuery(parseExport, exportParameters) query: ParsedExport,
  ): Promise<Answered<ExportLinkResponse>> {
    return this.links.create(actor, query);
  }

  /** Export users with a one-time link */
  @Get('export/:token')
  @Public()
  @Endpoint({
    description:
      'Exports the users of the link, as `GET /user/export` does. ' +
      'Each request uses up the link, even if the export is rejected.',
    answer: exportResponse,
    errors: ['export.link_invalid', 'access.denied', 'auth.reauthentication_required', 'service.overloaded'],
  })
  async downloadExport(
    @Param('token') token: string,
    @CurrentCaller() caller: Caller,
    @ClientGone() gone: AbortSignal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<StreamableFile> {
    return toUsersFile(await this.links.use(token, caller, gone), reply);
  }

  /** Create users from a file */
  @Post('import')
  @HttpCode(200)
  @Allow('user:import', { fresh: '`dry_run` is false' })
  @Idempotent()
  @ApiConsumes('text/csv', 'application/x-ndjson')
  @ApiBody({ description: 'One user per row', schema: { type: 'string' } })
  @Endpoint({
    description: importDescription,
    answer: {
      status: 200,
      type: importResponse,
      description: 'The operation, which has ended, or with `dry_run` the result that the import would have',
      accepted: { type: importResponse, description: 'The operation, which continues in the background' },
    },
    query: importParameters,
  })
  importUsers(
    @CurrentActor() actor: Actor,
    @Query() query: RawQuery,
    @Upload() file: UploadedFile,
  ): Promise<ImportPreviewResponse | OperationResponse> {
    return this.imports.import(actor, query, file);
  }

  /** List or download the rows that an import skipped */
  @Get('operation/:operation_id/skipped')
  @Allow(undefined, { apiKeys: true })
  @LongWork()
  @Endpoint({
    description: skippedDescription,
    answer: {
      status: 200,
      type: SkippedRowListResponse,
      description: 'One page of the rows, or with `Accept: text/csv` the file',
      media: ['text/csv'],
      headers: { 'Content-Disposition': 'Name of the file' },
    },
    errors: ['operation.not_found', 'request.rate_limited', 'service.overloaded'],
  })
  async listSkippedRows(
    @CurrentActor() actor: Actor,
    @PathId('operation_id') operation_id: string,
    @ListQuery(skippedRowList, readerOf) query: ListQuery,
    @Query() sent: RawQuery,
    @Headers('accept') accept = '',
    @ClientGone() gone: AbortSignal,
  ): Promise<SkippedRowListResponse | StreamableFile> {
    const answer = await this.exports.getSkipped(actor, operation_id, query, sent, accept, gone);
    return 'texts' in answer ? toFile(answer) : answer;
  }
}

function toUsersFile({ changes_cursor, ...file }: ExportedUsers, reply: FastifyReply): StreamableFile {
  void reply.header('changes-cursor', changes_cursor);
  return toFile(file);
}

function toFile({ name, media_type, texts, late }: ExportedFile): StreamableFile {
  return new StreamableFile(Readable.from(texts, { signal: late }), {
    type: media_type,
    disposition: `attachment; filename="${name}"`,
  });
}
