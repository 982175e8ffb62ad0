import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../access/actor';
import { Allow } from '../access/allow.decorator';
import { CurrentActor } from '../access/caller.decorator';
import { LongWork } from '../access/long-work.decorator';
import { Endpoint } from '../http/endpoint.decorator';
import { AttacksResponse } from './attacks.dto';
import { type Attacks, AttacksService } from './attacks.service';
import { type Overview, StatsService } from './stats.service';
import { OverviewResponse } from './stats.dto';

/** Routes to statistics. */
@ApiTags('Statistics')
@Controller('stats')
export class StatsController {
  constructor(
    private readonly stats: StatsService,
    private readonly attacks: AttacksService,
  ) {}

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
      'Expiring API keys require `key:manage`, mails `mail:manage`, webhooks `webhook:manage`, and attacks ' +
      '`audit:read`: more than 30 rejected logins in the last hour, and more than three times the usual number. ' +
      '`health` is for System Users without a carrier scope, and at most a minute old.',
    answer: { status: 200, type: OverviewResponse, description: 'The figures' },
  })
  getOverview(@CurrentActor() actor: Actor): Promise<Overview> {
    return this.stats.get(actor);
  }

  /** Get the attacks of the last 24 hours */
  @Get('attacks')
  @Allow('audit:read')
  @LongWork()
  @Endpoint({
    description:
      'Counts the rejected logins (`login.failed`) of the last 24 hours, at most the last 200,000, by network and by ' +
      'user. The result is at most 10 seconds old. Callers with a scope see only logins of users within the scope, ' +
      'so none with an unknown name, and no blocks.',
    answer: { status: 200, type: AttacksResponse, description: 'Networks and users, and the rate of rejected logins' },
  })
  getAttacks(@CurrentActor() actor: Actor): Promise<Attacks> {
    return this.attacks.get(actor);
  }
}
