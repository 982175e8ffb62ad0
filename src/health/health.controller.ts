import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '../access/allow.decorator';
import { Endpoint } from '../common/http/endpoint.decorator';
import { HealthResponse } from './health.dto';
import { HealthService } from './health.service';

/** For load balancers and orchestrators. */
@ApiTags('Health')
@Controller('health')
export class HealthController {
  constructor(private readonly health: HealthService) {}

  /** Tell whether the process lives */
  @Get('live')
  @Public('none')
  @Endpoint({ answer: { status: 200, type: HealthResponse, description: 'It does' } })
  live(): HealthResponse {
    return this.health.live();
  }

  /** Tell whether requests can be served */
  @Get('ready')
  @Public('none')
  @Endpoint({
    description: '503 while the database does not answer.',
    answer: { status: 200, type: HealthResponse, description: 'They can' },
  })
  ready(): Promise<HealthResponse> {
    return this.health.ready();
  }
}
