import { Readable } from 'node:stream';
import { Controller, Get, HttpCode, Post, Query, StreamableFile, UseInterceptors } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiTags } from '@nestjs/swagger';
import type { Actor } from '../access/actor';
import { Allow } from '../access/allow.decorator';
import { CurrentActor } from '../access/caller.decorator';
import { ClientGone } from '../common/http/client-gone.decorator';
import { Endpoint } from '../common/http/endpoint.decorator';
import type { RawQuery } from '../common/query/filter';
import { filterParameters, type ParameterDoc } from '../common/query/parameters';
import { Upload, UploadedFile } from '../common/http/upload';
import { Idempotent } from '../idempotency/idempotent.decorator';
import { OperationHeadersInterceptor } from '../operations/operation-headers.interceptor';
import { OperationResponse } from '../operations/operations.dto';
import { userFilter } from '../users/users.service';
import { importParameters } from './import-options';
import { type ExportedFile, UsersExportService } from './users-export.service';
import { UsersImportService } from './users-import.service';
import { importColumns } from './transfer-columns';
import { ImportResultResponse } from './users-transfer.dto';

const exportParameters: ParameterDoc[] = [
  ...filterParameters(userFilter),
  {
    name: 'format',
    description: 'How the users are written',
    schema: { type: 'string', enum: ['csv', 'ndjson'], default: 'csv' },
  },
  {
    name: 'hashes',
    description:
      '`true`: with `password_hash`; needs `user:purge` and `format=ndjson`. Not of users whom the caller may not change',
    schema: { type: 'boolean', default: false },
  },
];

const columns = Object.keys(importColumns)
  .map((name) => `\`${name}\``)
  .join(', ');

/** Users into files and out of them. */
@ApiTags('Import and export')
@Controller('user')
@UseInterceptors(OperationHeadersInterceptor)
export class UsersTransferController {
  constructor(
    private readonly exports: UsersExportService,
    private readonly imports: UsersImportService,
  ) {}

  /** Export the users that a filter finds */
  @Get('export')
  @Allow('user:export')
  @Endpoint({
    description: `All of them, as they are at one moment, in the order of their ids; without a filter all that the caller may see. Filters are those of \`GET /user/list\`, \`attributes.<key>\` too. The columns are those that an import takes back.
CSV is that of RFC 4180 with a header line: no value is an empty cell, lists and \`attributes\` are JSON, and a cell that a spreadsheet would take for a formula (\`= + - @\`, tab or line break, also after apostrophes) has one apostrophe more before it, which an import takes away.
One export per caller at a time; another one is refused with 429. A reader that takes nothing for a minute, or less than 16 KiB per second for long, is cut off.
Audited. A file that breaks off is not complete: the connection ends without the end of the body.`,
    answer: {
      status: 200,
      description: 'The file',
      media: ['text/csv', 'application/x-ndjson'],
      headers: { 'Content-Disposition': 'Name of the file' },
    },
    errors: ['request.rate_limited', 'service.overloaded'],
    query: exportParameters,
    grammar: true,
  })
  async export(
    @CurrentActor() actor: Actor,
    @Query() query: RawQuery,
    @ClientGone() gone: AbortSignal,
  ): Promise<StreamableFile> {
    return toFile(await this.exports.export(actor, query, gone));
  }

  /** Create users from a file */
  @Post('import')
  @HttpCode(200)
  @Allow('user:import')
  @Idempotent()
  @ApiConsumes('text/csv', 'application/x-ndjson')
  @ApiBody({ description: 'One user per row', schema: { type: 'string' } })
  @Endpoint({
    description: `CSV (RFC 4180, UTF-8, the first line names the columns) or NDJSON, as an export writes them; \`user_type\`, \`name\` and \`email\` are required, \`password_hash\` may come besides; in CSV lists and \`attributes\` are JSON. The columns: ${columns}. At most 5,000,000 rows of at most 131,072 characters each, and at most 4 GiB (413).
Each row stands for itself, by the rules of \`POST /user/create\`; a file that cannot be read creates nobody. Up to 10,000 rows (100 with an MD5) are answered when they are done, more are an operation, and so are those that cannot be done for the moment (202).
A caller who cannot list every user learns of at most 1,000 conflicts an hour with names, addresses and ids outside their scope. After that, an import reports conflicting rows as \`field.conflict\` without a pointer, and a dry run reports all further rows in this way. Another dry run in the same hour returns 429.
Hashes: Argon2, bcrypt (cost up to 14), scrypt and PBKDF2 in their standard text forms, of bounded cost, and MD5 in hexadecimal, which is wrapped inside Argon2id. Only System Users without \`carrier_scope\` can import hashes of other systems (an MD5 is open to all): the work of every refused login grows with them. The first login replaces the hash; if the password policy rejects the password, the user must change it. Without a hash, a user is \`invited\` or \`disabled\`.`,
    answer: {
      status: 200,
      type: ImportResultResponse,
      description: 'What was done, or with `dry_run` what would be',
      accepted: { type: OperationResponse, description: 'The operation that goes on' },
    },
    query: importParameters,
  })
  import(
    @CurrentActor() actor: Actor,
    @Query() query: RawQuery,
    @Upload() file: UploadedFile,
  ): Promise<ImportResultResponse | OperationResponse> {
    return this.imports.import(actor, query, file);
  }
}

function toFile({ name, media_type, texts, late }: ExportedFile): StreamableFile {
  return new StreamableFile(Readable.from(texts, { signal: late }), {
    type: media_type,
    disposition: `attachment; filename="${name}"`,
  });
}
