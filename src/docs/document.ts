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
  'Bulk changes': 'Change or delete all users that match a filter, with preview and undo',
  'Import and export': 'Users into files and out of them',
  Operations: 'Following, ending and undoing what is done to many',
  Sessions: 'One per login',
  Keys: 'With which machines call the service',
  Roles: 'Named sets of permissions',
  Audit: 'Who did what to whom',
  Health: 'For load balancers and orchestrators',
};
/** What holds for all operations, and would have to be said at each. */
const introduction = [
  'Users, logins, tokens and sessions of a carrier-services platform.',
  '**Callers.** `POST /auth/login` gives an access token and a refresh token, `POST /auth/check-token` renews them. Send the access token, or a key for machines, as `Authorization: Bearer …` or `X-Auth-Token: …`. Each operation names the permission that it demands; what is outside the scope of the caller does not exist for them.',
  '**Requests.** JSON in UTF-8 unless said otherwise. Unknown fields and unknown, repeated or empty parameters are refused. In a PATCH an absent field is unchanged and null clears it. Times are RFC 3339 in UTC.',
  '**Filters** are parameters called like the fields, joined by AND. An operator is a suffix: none is equality, `_ne` (finds nulls too), `_in` (a comma list of up to 500), `_gt` `_gte` `_lt` `_lte` (times), `_isnull` (`true` or `false`), `_like` (contains, at least 3 characters). In a query a `+` of a time has to be written `%2B`.',
  '**Pages.** Go on with `cursor=` and the `next_cursor` of the page before, until it is null. `total` says with `relation` whether it is exact (`eq`) or an estimate (`approx`).',
  '**Repeating.** Where an operation takes an `Idempotency-Key`, a repeated request is done once. With `If-Match` and the `ETag` of a user a change applies to that version only.',
  '**Errors** are `application/problem+json` (RFC 9457); decide by `code`, show `detail` to people, tell operators the `request_id`. The order of refusal is 401, 403, 400, 404, 412, 409. After 429 and 503 wait for `Retry-After`.',
].join('\n\n');
const together = (...names: string[]) => {
  const properties = Object.fromEntries(names.map((name) => [name, {}]));
  return { required: names, properties };
};
/**
 * Rules between the fields of a body, which no decorator of a field can show. Services enforce
 * them.
 */
const betweenFields: Record<string, object> = {
  CheckTokenRequest: { not: together('token', 'refresh_token') },
  ChangeFoundUsersRequest: {
    minProperties: 1,
    not: { anyOf: [together('roles', 'roles_add'), together('roles', 'roles_remove')] },
  },
  CreateUserRequest: {
    if: { properties: { user_type: { const: 'carrier' } } },
    then: { required: ['carrier_id'], properties: { carrier_id: { type: 'string' }, carrier_scope: { type: 'null' } } },
    else: { properties: { carrier_id: { type: 'null' } } },
  },
};
const methods = ['get', 'post', 'patch', 'delete'] as const;

/**
 * Makes the OpenAPI 3.1 document from controllers and DTOs. Only the build does this; the service
 * serves the committed file.
 */
export function createDocument(app: INestApplication): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('carrier-identity')
    .setDescription(introduction)
    .setVersion('1')
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addServer('/', 'This service')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }, 'bearer')
    .addApiKey({ type: 'apiKey', in: 'header', name: 'X-Auth-Token' }, 'x-auth-token')
    .addBasicAuth(
      { type: 'http', scheme: 'basic', description: 'The id of a key for machines, and the key' },
      'client-credentials',
    );
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
  const schemas = ((document.components ??= {}).schemas ??= {});
  for (const schema of Object.values(schemas)) closeSchema(schema);
  for (const [name, rules] of Object.entries(betweenFields)) Object.assign(schemas[name] ?? {}, rules);
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
    if (schema.allOf !== undefined)
      Object.assign(schema, { anyOf: [...schema.allOf, { type: 'null' }], allOf: undefined });
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
    // A list of 500 long values does not fit into a request.
    'request.headers_too_large',
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
  for (const code of new Set(codes))
    byStatus.set(errorKind(code).status, [...(byStatus.get(errorKind(code).status) ?? []), code]);
  for (const [status, list] of [...byStatus].sort(([a], [b]) => a - b))
    operation.responses[String(status)] = refusal(status, list);
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
