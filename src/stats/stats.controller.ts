import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../access/actor';
import { Allow } from '../access/allow.decorator';
import { CurrentActor } from '../access/caller.decorator';
import { LongWork } from '../access/long-work.decorator';
import { Endpoint } from '../http/endpoint.decorator';
import { type Overview, StatsService } from './stats.service';
import { OverviewResponse } from './stats.dto';

/** Routes to statistics. */
@ApiTags('Statistics')
@Controller('stats')
export class StatsController {
  constructor(private readonly stats: StatsService) {}

  /** Get the overview */
  @Get('overview')
  @Allow('user:read')
  @LongWork()
  @Endpoint({
    description:
      'Returns the figures of the start page: users by status, live sessions, logins of the last 24 hours, running ' +
      'operations and what needs attention, within the carriers of the caller. ' +
      'A job counts users, sessions, logins and failed mails every minute, or less often if a count takes longer ' +
      'than 600 ms. `as_of` is the time of the last count, and `age_seconds` its age. ' +
      'Expiring API keys require `key:manage`, mails `mail:manage`, and webhooks `webhook:manage`. `health` is for ' +
      'System Users without a carrier scope, and at most a minute old.',
    answer: { status: 200, type: OverviewResponse, description: 'The figures' },
  })
  getOverview(@CurrentActor() actor: Actor): Promise<Overview> {
    return this.stats.get(actor);
  }
}
