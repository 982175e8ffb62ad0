import { Controller, Get, Inject } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '../access/allow.decorator';
import { Endpoint } from '../common/http/endpoint.decorator';
import { name, version } from '../common/project';
import { CONFIG, type Config, consoleUrl, serviceUrl } from '../config/config';
import { ServiceResponse } from './health.dto';

/** Responds at the root with the name, the version and the links of the service. */
@ApiTags('Health')
@Controller()
export class RootController {
  private readonly response: ServiceResponse;

  constructor(@Inject(CONFIG) config: Config) {
    const base = serviceUrl(config);
    const links = {
      ...(config.CONSOLE ? { console: consoleUrl(config) } : {}),
      docs: `${base}/docs`,
      openapi: `${base}/docs/openapi.json`,
      jwks: `${base}/.well-known/jwks.json`,
      live: `${base}/health/live`,
      ready: `${base}/health/ready`,
    };
    this.response = { name, version, links };
  }

  /** Get the name, the version and the links of the service */
  @Get()
  @Public()
  @Endpoint({ answer: { status: 200, type: ServiceResponse, description: 'The service' } })
  getService(): ServiceResponse {
    return this.response;
  }
}
