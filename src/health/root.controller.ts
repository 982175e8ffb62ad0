import { Controller, Get, Head, Headers, Inject, Res } from '@nestjs/common';
import { ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Public } from '../access/allow.decorator';
import { Endpoint } from '../http/endpoint.decorator';
import { name, version } from '../platform/project';
import { CONFIG, type Config, consoleUrl, serviceUrl } from '../platform/config/config';
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
  @ApiResponse({ status: 302, description: 'The console, with `Accept: text/html`, if the service serves it' })
  @Endpoint({ answer: { status: 200, type: ServiceResponse, description: 'The service' } })
  getService(
    @Headers('accept') accept = '',
    @Res({ passthrough: true }) reply: FastifyReply,
  ): ServiceResponse | undefined {
    const { console } = this.response.links;
    if (console === undefined || !accept.includes('text/html')) return this.response;
    void reply.redirect(console, 302);
    return undefined;
  }

  /** Check that the service responds, without a body */
  @Head()
  @Public()
  @Endpoint({ answer: { status: 200, description: 'The service' } })
  headService(): ServiceResponse {
    return this.response;
  }
}
