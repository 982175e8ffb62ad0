import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../access/actor';
import { Allow } from '../access/allow.decorator';
import { CurrentActor } from '../access/caller.decorator';
import { LongWork } from '../access/long-work.decorator';
import { Endpoint } from '../common/http/endpoint.decorator';
import type { RawQuery } from '../common/query/filter';
import type { Page } from '../common/query/page';
import { listParameters } from '../common/query/parameters';
import type { Answered } from '../common/times';
import { auditList } from './audit-list';
import { AuditListResponse, type EventResponse } from './audit.dto';
import { describeEvents } from './event-catalogue';
import { EventsService } from './events.service';

/** The audit log. */
@ApiTags('Audit')
@Controller('audit')
export class AuditController {
  constructor(private readonly events: EventsService) {}

  /** List the events of the audit log */
  @Get('list')
  @Allow('audit:read')
  @LongWork()
  @Endpoint({
    description: `The audit log records these events:\n\n${describeEvents()}`,
    answer: { status: 200, type: AuditListResponse, description: 'One page of events' },
    errors: ['page.too_deep', 'page.cursor_invalid'],
    query: listParameters(auditList),
    grammar: true,
  })
  listEvents(@CurrentActor() actor: Actor, @Query() query: RawQuery): Promise<Page<Answered<EventResponse>>> {
    return this.events.list(actor, query);
  }
}
