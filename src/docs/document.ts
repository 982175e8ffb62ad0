import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { type ErrorCode, errorKind } from '../common/errors/error-codes';
import { ProblemResponse } from '../common/http/problem.dto';

/** An operation of the document, as far as it is completed here. */
interface Operation {
  operationId?: string;
  security?: unknown[];
  requestBody?: unknown;
  parameters?: { in: string; name: string; description?: string }[];
  responses: Record<string, unknown>;
  'x-error-codes'?: ErrorCode[];
  'x-permission'?: string;
  'x-keys'?: boolean;
  description?: string;
}

/** What the parameters of paths mean: one name, one meaning. */
const pathParameters: Record<string, string> = {
  user_id: 'Id of the user, a UUID; anything else is 404',
  operation_id: 'Id of the operation, a UUID; anything else is 404',
  key_id: 'Id of the key, a UUID; anything else is 404',
  session_id: 'Id of the session, a UUID; anything else is 404',
  role: 'Name of the role, in its upper and lower case',
  token: 'Token of the mailed link',
};

/** The order in which the explorer shows them. */
const tags: Record<string, string> = {
  Authentication: 'Logging in and out, and what a token is worth',
  'Passwords and addresses': 'Setting them, also by mailed link',
  Users: 'One user at a time, and lists',
  'Found users': 'Changing and deleting all that a filter finds',
  'Import and export': 'Users into files and out of them',
  Operations: 'Following, ending and undoing what is done to many',
  Sessions: 'One per login',
  Keys: 'With which machines call the service',
  Roles: 'Named sets of permissions',
  Audit: 'Who did what to whom',
  Health: 'For load balancers and orchestrators',
};
const methods = ['get', 'post', 'patch', 'delete'] as const;

/** Makes the OpenAPI 3.1 document from controllers and DTOs. Only the build does this; the service serves the committed file. */
export function createDocument(app: INestApplication): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('carrier-identity')
    .setDescription('Users, logins, tokens and sessions of a carrier-services platform.')
    .setVersion('1')
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addServer('/', 'This service')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }, 'bearer')
    .addApiKey({ type: 'apiKey', in: 'header', name: 'X-Auth-Token' }, 'x-auth-token')
    .addBasicAuth({ type: 'http', scheme: 'basic', description: 'The id of a key for machines, and the key' }, 'client-credentials');
  const document = SwaggerModule.createDocument(app, builder.build(), {
    extraModels: [ProblemResponse],
    operationIdFactory: (controller, method) => `${controller.replace('Controller', '')}.${method}`,
  });
  document.tags = Object.entries(tags).map(([name, description]) => ({ name, description }));
  for (const path of Object.values(document.paths)) {
    for (const method of methods) {
      const operation = path[method] as Operation | undefined;
      if (operation !== undefined) complete(operation, method);
    }
  }
  for (const schema of Object.values(document.components?.schemas ?? {})) closeSchema(schema);
  return document;
}

interface Schema {
  type?: string | string[];
  nullable?: boolean;
  additionalProperties?: unknown;
  properties?: Record<string, Schema>;
  allOf?: Schema[];
  $ref?: string;
}

/** OpenAPI 3.1 has no `nullable`; and an object has the properties it names and no others. */
function closeSchema(schema: Schema): void {
  if (schema.nullable === true) {
    delete schema.nullable;
    if (schema.allOf !== undefined) Object.assign(schema, { anyOf: [...schema.allOf, { type: 'null' }], allOf: undefined });
    else if (typeof schema.type === 'string') schema.type = [schema.type, 'null'];
  }
  if (schema.properties !== undefined) {
    schema.additionalProperties ??= false;
    Object.values(schema.properties).forEach(closeSchema);
  }
}

/** Adds what every operation of its kind can answer, so that no controller has to repeat it. */
function complete(operation: Operation, method: string): void {
  const closed = operation['x-permission'] !== 'none';
  operation.security ??= [];
  const codes: ErrorCode[] = [
    ...(operation['x-error-codes'] ?? []),
    'request.rate_limited',
    'service.internal_error',
    'service.database_unavailable',
  ];
  if (operation.parameters?.some(({ name }) => name === 'Idempotency-Key') === true)
    codes.push('idempotency.in_progress', 'idempotency.key_reused');
  if (closed) codes.push('auth.token_missing', 'auth.token_invalid', 'access.denied', 'auth.password_change_required');
  codes.push('request.invalid');
  // a body that nobody asked for is read and refused like any other
  if (method !== 'get') codes.push('request.malformed_json', 'request.too_large', 'request.unsupported_media_type');
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of new Set(codes)) byStatus.set(errorKind(code).status, [...(byStatus.get(errorKind(code).status) ?? []), code]);
  for (const [status, list] of [...byStatus].sort(([a], [b]) => a - b)) operation.responses[String(status)] = refusal(status, list);
  const permission = operation['x-permission'];
  if (permission !== undefined && permission !== 'none')
    operation.description =
      `${operation.description ?? ''}\n\nPermission: \`${permission}\`${operation['x-keys'] === true ? '' : '; not for keys'}`.trim();
  for (const parameter of operation.parameters ?? []) {
    const description = parameter.in === 'path' ? pathParameters[parameter.name] : undefined;
    if (description !== undefined) parameter.description ??= description;
  }
  if (method === 'get' || method === 'delete') delete operation.requestBody;
}

function refusal(status: number, codes: ErrorCode[]): unknown {
  const texts = codes.map((code) => `\`${code}\`: ${errorKind(code).title}`);
  const retry = codes.some((code) => errorKind(code).retry_after_seconds !== undefined)
    ? { headers: { 'Retry-After': { description: 'Seconds to wait', schema: { type: 'string' } } } }
    : {};
  return {
    description: texts.join('; '),
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/ProblemResponse' } } },
    ...retry,
  };
}
