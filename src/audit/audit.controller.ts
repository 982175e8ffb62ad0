import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../access/actor';
import { Allow } from '../access/allow.decorator';
import { CurrentActor } from '../access/caller.decorator';
import { ListQuery } from '../access/list-query.decorator';
import { LongWork } from '../access/long-work.decorator';
import { Endpoint } from '../http/endpoint.decorator';
import type { Page } from '../http/lists/page';
import type { Answered } from '../platform/times';
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
  })
  listEvents(
    @CurrentActor() actor: Actor,
    @ListQuery(auditList) query: ListQuery,
  ): Promise<Page<Answered<EventResponse>>> {
    return this.events.list(actor, query);
  }
}
