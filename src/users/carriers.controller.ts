import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../access/actor';
import { Allow } from '../access/allow.decorator';
import { CurrentActor } from '../access/caller.decorator';
import { ListQuery } from '../access/list-query.decorator';
import { LongWork } from '../access/long-work.decorator';
import { Endpoint } from '../http/endpoint.decorator';
import type { Page } from '../http/lists/page';
import { carrierList, CarrierListResponse, type CarrierResponse } from './carriers.dto';
import { UsersService } from './users.service';

/** Routes of carriers. */
@ApiTags('Users')
@Controller('carrier')
export class CarriersController {
  constructor(private readonly users: UsersService) {}

  /** List the carriers that have users */
  @Get('list')
  @Allow('user:read')
  @LongWork()
  @Endpoint({
    description:
      'Lists the carriers within the scope of the caller, with their numbers of users by status. ' +
      'With more than 10,000 carriers, `total` is 10,000 with the relation `approx`, unless `count=exact` is sent.',
    answer: { status: 200, type: CarrierListResponse, description: 'One page of carriers' },
  })
  listCarriers(@CurrentActor() actor: Actor, @ListQuery(carrierList) query: ListQuery): Promise<Page<CarrierResponse>> {
    return this.users.listCarriers(actor, query);
  }
}
