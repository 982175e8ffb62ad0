import { Controller, Get, Head } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '../access/allow.decorator';
import { Endpoint } from '../http/endpoint.decorator';
import { HealthResponse, ReadinessResponse } from './health.dto';
import { HealthService } from './health.service';

const readyRules = 'Responds with 503 while the database is unavailable or read-only, and after SIGTERM.';

/** Health checks for load balancers and orchestrators. */
@ApiTags('Health')
@Controller('health')
export class HealthController {
  constructor(private readonly health: HealthService) {}

  /** Check whether the process is running */
  @Get('live')
  @Public('none')
  @Endpoint({ answer: { status: 200, type: HealthResponse, description: 'The process is running' } })
  getLiveness(): HealthResponse {
    return this.health.live();
  }

  /** Check whether the process is running, without a body */
  @Head('live')
  @Public('none')
  @Endpoint({ answer: { status: 200, description: 'The process is running' } })
  headLiveness(): HealthResponse {
    return this.getLiveness();
  }

  /** Check whether the service can handle requests */
  @Get('ready')
  @Public('none')
  @Endpoint({
    description: readyRules,
    answer: { status: 200, type: ReadinessResponse, description: 'The service can handle requests' },
    errors: ['service.stopping'],
  })
  getReadiness(): Promise<ReadinessResponse> {
    return this.health.ready();
  }

  /** Check whether the service can handle requests, without a body */
  @Head('ready')
  @Public('none')
  @Endpoint({
    description: readyRules,
    answer: { status: 200, description: 'The service can handle requests' },
    errors: ['service.stopping'],
  })
  headReadiness(): Promise<ReadinessResponse> {
    return this.getReadiness();
  }
}
