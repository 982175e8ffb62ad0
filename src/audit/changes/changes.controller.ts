import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../../access/actor';
import { Allow } from '../../access/allow.decorator';
import { CurrentActor } from '../../access/caller.decorator';
import { ParsedQuery } from '../../access/list-query.decorator';
import { ClientGone } from '../../http/client-gone.decorator';
import { Endpoint } from '../../http/endpoint.decorator';
import type { Answered } from '../../platform/times';
import { changeParameters, type ChangeQuery, parseChangeQuery } from './change-query';
import { ChangeListResponse } from './changes.dto';
import { ChangesService } from './changes.service';

/** The change feed. */
@ApiTags('Changes')
@Controller('change')
export class ChangesController {
  constructor(private readonly changes: ChangesService) {}

  /** Follow what changes */
  @Get('list')
  @Allow('change:read')
  @Endpoint({
    description:
      'Returns what happened to users, sessions, roles and API keys, in an order that never changes. ' +
      'No change is missed, repeated, or added before a cursor that was returned. ' +
      'Callers with a scope get the changes of the users within the scope and of their sessions. ' +
      'Deletions and the end of a session are final. ' +
      'An open transaction delays later changes: see `behind_seconds`.\n\n' +
      'To keep a copy, read `GET /user/list` or `GET /user/export` once, then continue here with their ' +
      '`changes_cursor`. A page with a filter can have fewer items than `per_page`, or none, before the end of the ' +
      'feed: it looks through 10,000 changes.',
    answer: { status: 200, type: ChangeListResponse, description: 'The next changes' },
  })
  listChanges(
    @CurrentActor() actor: Actor,
    @ParsedQuery(parseChangeQuery, changeParameters, ['page.cursor_invalid', 'change.cursor_expired'])
    query: ChangeQuery,
    @ClientGone() gone: AbortSignal,
  ): Promise<Answered<ChangeListResponse>> {
    return this.changes.list(actor, query, gone);
  }
}
