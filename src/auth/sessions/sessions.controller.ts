import { Controller, Delete, Get, HttpCode } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../../access/actor';
import { Allow } from '../../access/allow.decorator';
import { CurrentActor } from '../../access/caller.decorator';
import { FilterQuery, ListQuery } from '../../access/list-query.decorator';
import { LongWork, SingleWrite } from '../../access/long-work.decorator';
import { Endpoint } from '../../http/endpoint.decorator';
import { PathId } from '../../http/fields/path-id.decorator';
import type { Condition } from '../../http/lists/filter';
import type { Page } from '../../http/lists/page';
import type { Answered } from '../../platform/times';
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
  })
  listSessions(
    @CurrentActor() actor: Actor,
    @ListQuery(sessionList) query: ListQuery,
  ): Promise<Page<Answered<SessionResponse>>> {
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
  })
  endSessions(
    @CurrentActor() actor: Actor,
    @FilterQuery(sessionList.filter) found: Condition[],
  ): Promise<EndedSessionsResponse> {
    return this.sessions.endFound(actor, found);
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
