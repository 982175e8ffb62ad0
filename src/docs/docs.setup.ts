import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { readProjectFile } from '../common/project';

/**
 * Content security policy of the explorer.
 * It allows only scripts and styles of the service itself.
 */
export const docsPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'";

/** Serves the OpenAPI explorer at `/docs` and the document at `/docs/openapi.json`. */
export function setupDocs(app: NestFastifyApplication, basePath: string): void {
  // The committed document. The build generates it, and CI checks it for drift.
  const document = JSON.parse(readProjectFile('openapi.json')) as OpenAPIObject;
  document.servers = [{ url: basePath === '' ? '/' : basePath, description: 'This service' }];
  SwaggerModule.setup('docs', app, document, {
    useGlobalPrefix: true,
    jsonDocumentUrl: 'docs/openapi.json',
    yamlDocumentUrl: 'docs/openapi.yaml',
    customSiteTitle: 'carrier-identity API',
    swaggerOptions: { persistAuthorization: false, displayRequestDuration: true, docExpansion: 'list', filter: true },
  });
}
