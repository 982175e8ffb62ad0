import { Controller, Delete, Get, HttpCode, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../access/actor';
import { Allow } from '../access/allow.decorator';
import { CurrentActor } from '../access/caller.decorator';
import { LongWork, SingleWrite } from '../access/long-work.decorator';
import { Endpoint } from '../common/http/endpoint.decorator';
import { PathId } from '../common/http/path-id.decorator';
import type { RawQuery } from '../common/query/filter';
import type { Page } from '../common/query/page';
import { filterParameters, listParameters } from '../common/query/parameters';
import type { Answered } from '../common/times';
import { sessionList } from './session-list';
import { EndedSessionsResponse, SessionListResponse, type SessionResponse } from './sessions.dto';
import { SessionsService } from './sessions.service';

/** Routes to list and end sessions. */
@ApiTags('Sessions')
@Controller('auth/session')
export class SessionsController {
  constructor(private readonly sessions: SessionsService) {}

  /** List web sessions */
  @Get('list')
  @Allow(undefined, { apiKeys: 'session:read' })
  @LongWork()
  @Endpoint({
    description:
      "Lists the caller's own sessions, or with `session:read` all sessions within the caller's scope. " +
      'API keys have no sessions and need the permission.',
    answer: { status: 200, type: SessionListResponse, description: 'One page of sessions' },
    errors: ['page.too_deep', 'page.cursor_invalid'],
    query: listParameters(sessionList),
    grammar: true,
  })
  listSessions(@CurrentActor() actor: Actor, @Query() query: RawQuery): Promise<Page<Answered<SessionResponse>>> {
    return this.sessions.list(actor, query);
  }

  /** End the sessions that match a filter */
  @Delete('all')
  @Allow(undefined, { apiKeys: 'session:revoke' })
  @LongWork()
  @Endpoint({
    description:
      "Without a filter, ends the caller's other sessions. Sessions of other users need `session:revoke`. " +
      'The current session is never ended. Thousands of sessions are ended in batches. ' +
      'After an error, send the same request again to end the rest.',
    answer: { status: 200, type: EndedSessionsResponse, description: 'Number of ended sessions' },
    query: filterParameters(sessionList.filter),
    grammar: true,
  })
  endSessions(@CurrentActor() actor: Actor, @Query() query: RawQuery): Promise<EndedSessionsResponse> {
    return this.sessions.endFound(actor, query);
  }

  /** End one session */
  @Delete(':session_id')
  @HttpCode(204)
  @Allow(undefined, { apiKeys: 'session:revoke' })
  @SingleWrite()
  @Endpoint({
    description:
      "Ends one of the caller's sessions, or with `session:revoke` any session within the caller's scope. " +
      'Succeeds if the session has already ended.',
    answer: { status: 204, description: 'The session has ended' },
    errors: ['session.not_found', 'access.protected_user'],
  })
  endSession(@CurrentActor() actor: Actor, @PathId('session_id') session_id: string): Promise<void> {
    return this.sessions.endOne(actor, session_id);
  }
}
