import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '../access/allow.decorator';
import { Endpoint } from '../common/http/endpoint.decorator';
import { HealthResponse } from './health.dto';
import { HealthService } from './health.service';

/** Health checks for load balancers and orchestrators. */
@ApiTags('Health')
@Controller('health')
export class HealthController {
  constructor(private readonly health: HealthService) {}

  /** Check whether the process is running */
  @Get('live')
  @Public('none')
  @Endpoint({ answer: { status: 200, type: HealthResponse, description: 'The process is running' } })
  live(): HealthResponse {
    return this.health.live();
  }

  /** Check whether the service can handle requests */
  @Get('ready')
  @Public('none')
  @Endpoint({
    description: 'Responds with 503 while the database is unavailable.',
    answer: { status: 200, type: HealthResponse, description: 'The service can handle requests' },
  })
  ready(): Promise<HealthResponse> {
    return this.health.ready();
  }
}
