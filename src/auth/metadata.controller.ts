import { Controller, Get, Inject } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '../access/allow.decorator';
import { CONFIG, type Config, docsUrl, serviceUrl } from '../platform/config/config';
import { Endpoint } from '../http/endpoint.decorator';
import { AuthorizationServerResponse } from './metadata.dto';

/** Metadata with which OAuth 2.0 libraries of modules find the endpoints of the service. */
@ApiTags('Authentication')
@Controller()
export class MetadataController {
  private readonly metadata: AuthorizationServerResponse;

  constructor(@Inject(CONFIG) config: Config) {
    const issuer = serviceUrl(config);
    this.metadata = {
      issuer,
      jwks_uri: `${issuer}/.well-known/jwks.json`,
      introspection_endpoint: `${issuer}/auth/introspect`,
      introspection_endpoint_auth_methods_supported: ['Bearer', 'client_secret_basic', 'client_secret_post'],
      response_types_supported: [],
      grant_types_supported: [],
      service_documentation: docsUrl(config),
    };
  }

  /** Get the metadata of the authorization server */
  @Get('.well-known/oauth-authorization-server')
  @Public()
  @Endpoint({
    description:
      'For OAuth 2.0 libraries (RFC 8414). With a `BASE_PATH`, the metadata is also at the path of the RFC: ' +
      '`/.well-known/oauth-authorization-server` followed by `BASE_PATH`. The service has no authorization endpoint ' +
      'and no token endpoint: users log in with `POST /auth/login`.',
    answer: { status: 200, type: AuthorizationServerResponse, description: 'The metadata' },
  })
  getAuthorizationServer(): AuthorizationServerResponse {
    return this.metadata;
  }
}
