import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../../access/actor';
import { RouteConfig } from '@nestjs/platform-fastify';
import { Allow } from '../../access/allow.decorator';
import { CurrentActor, Reauthorize } from '../../access/caller.decorator';
import { ParsedQuery } from '../../access/list-query.decorator';
import { ClientGone } from '../../http/client-gone.decorator';
import { Endpoint } from '../../http/endpoint.decorator';
import { changeParameters, type ChangeQuery, parseChangeQuery } from './change-query';
import { ChangeListResponse } from './changes.dto';
import { type ChangePage, ChangesService } from './changes.service';

/** The change feed. */
@ApiTags('Changes')
@Controller('change')
export class ChangesController {
  constructor(private readonly changes: ChangesService) {}

  /** Follow changes */
  @Get('list')
  @Allow('change:read', { waits: true })
  @RouteConfig({ showsChanges: true })
  @Endpoint({
    description:
      'Returns what happened to users, sessions, roles and API keys, in an order that never changes. ' +
      'No change is missed or repeated. No change appears later before a cursor that was returned. ' +
      'Callers with a scope get the changes of the users within the scope and of their sessions. ' +
      'An open transaction delays later changes: see `behind_seconds`.\n\n' +
      'To keep a copy, read `GET /user/list` or `GET /user/export` once. Then continue here with its ' +
      '`changes_cursor`. For callers with a scope and for requests with a filter, a page can have fewer items than ' +
      '`per_page`, or none, before the end of the feed: each request looks through at most 10,000 changes.',
    answer: { status: 200, type: ChangeListResponse, description: 'The next changes' },
  })
  listChanges(
    @CurrentActor() actor: Actor,
    @ParsedQuery(parseChangeQuery, changeParameters, ['page.cursor_invalid', 'change.cursor_expired'])
    query: ChangeQuery,
    @Reauthorize() reauthorize: () => Promise<Actor>,
    @ClientGone() gone: AbortSignal,
  ): Promise<ChangePage> {
    return this.changes.list(actor, query, { reauthorize, gone });
  }
}
