import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { type ErrorCode, errorKind } from '../common/errors/error-codes';
import { ProblemResponse } from '../common/http/problem.dto';

/** The parts of an operation that this file reads or completes. */
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

/** Descriptions of path parameters. A parameter has the same meaning in every path. */
const pathParameters: Record<string, string> = {
  user_id: 'Id of the user, a UUID. Other text returns 404.',
  operation_id: 'Id of the operation, a UUID. Other text returns 404.',
  key_id: 'Id of the API key, a UUID. Other text returns 404.',
  mail_id: 'Id of the mail, a UUID. Other text returns 404.',
  session_id: 'Id of the session, a UUID. Other text returns 404.',
  role: 'Name of the role, case-sensitive',
  token: 'Token of the mailed link',
};

/** Tags and their descriptions, in the order of the explorer. */
const tags: Record<string, string> = {
  Authentication: 'Log in and out, check and refresh tokens',
  'Passwords and addresses': 'Set passwords and confirm e-mail addresses, also by mailed link',
  Users: 'Read, create, change and delete single users, and list users',
  'Bulk changes': 'Change or delete all users that match a filter, with preview and undo',
  'Import and export': 'Create users from a file, and write users to a file',
  Operations: 'Follow, cancel and undo background work on many users',
  Sessions: 'List and end sessions. Every login opens a session.',
  'API keys': 'Credentials for programs that call the service',
  Roles: 'Named sets of permissions',
  Audit: 'The audit log: who changed what, and when',
  Health: 'Name and version of the service, and probes for load balancers and orchestrators',
};
/** Rules that hold for all operations. */
const introduction = [
  'Users, logins, tokens and sessions of a carrier-services platform.',
  '**Authentication.** `POST /auth/login` returns an access token and a refresh token. `POST /auth/check-token` ' +
    'refreshes them. Send the access token, or an API key, as `Authorization: Bearer …` or `X-Auth-Token: …`. ' +
    'Each operation names the permission that it requires. Users outside the scope of the caller are not visible.',
  '**Requests** are JSON in UTF-8 unless stated otherwise. Unknown fields and unknown, repeated or empty parameters ' +
    'are rejected. In a PATCH, an absent field stays unchanged and null clears it. Times are RFC 3339 in UTC.',
  '**Filters** are query parameters named like the fields. All filters must match. A suffix selects the operator: ' +
    'none is equality, `_ne` (also finds null), `_in` (a comma-separated list of up to 500 values), `_gt` `_gte` ' +
    '`_lt` `_lte` (times), `_isnull` (`true` or `false`), `_like` (contains, at least 3 characters). ' +
    'Write the `+` of a time as `%2B`.',
  '**Pages.** Send `next_cursor` of a page as `cursor` to get the next page, until `next_cursor` is null. ' +
    '`relation` in `total` is `eq` for an exact number and `approx` for an estimate.',
  '**Retries.** An operation with an `Idempotency-Key` runs once, even if the request is repeated. ' +
    'With `If-Match` and the `ETag` of a user, a change applies only to that version.',
  '**Errors** are `application/problem+json` (RFC 9457). Handle errors by `code`, show `detail` to users, and give ' +
    'the `request_id` to the operator. If several errors apply, the first of 401, 403, 400, 404, 412 and 409 is ' +
    'returned. After 429 and 503, wait for the number of seconds in `Retry-After`.',
].join('\n\n');
const together = (...names: string[]) => {
  const properties = Object.fromEntries(names.map((name) => [name, {}]));
  return { required: names, properties };
};
/**
 * Rules between the fields of a body, which field decorators cannot express.
 * Services enforce them.
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
const methods = ['get', 'head', 'post', 'patch', 'delete'] as const;

/**
 * Creates the OpenAPI 3.1 document from controllers and DTOs.
 * Only the build calls it. The service serves the committed file.
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
      { type: 'http', scheme: 'basic', description: 'Id of an API key as user name, the API key as password' },
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
  joinLines(document);
  return document;
}

/**
 * Joins the lines of each paragraph in all descriptions, because docstrings wrap at 100 columns.
 * Blank lines, list items and table rows stay.
 */
function joinLines(node: unknown): void {
  if (typeof node !== 'object' || node === null) return;
  for (const [name, value] of Object.entries(node)) {
    if (name === 'description' && typeof value === 'string')
      Object.assign(node, { description: value.replace(/(?<!\n)\n(?!\n|[-*|] |\d+\. )/g, ' ') });
    else joinLines(value);
  }
}

interface Schema {
  type?: string | string[];
  nullable?: boolean;
  additionalProperties?: unknown;
  properties?: Record<string, Schema>;
  allOf?: Schema[];
  $ref?: string;
}

/**
 * Replaces `nullable`, which OpenAPI 3.1 does not have, and closes objects to further properties.
 */
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

/** Adds the responses and descriptions that operations have in common. */
function complete(operation: Operation, method: string): void {
  const isProtected = operation['x-permission'] !== 'none';
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
  if (isProtected)
    codes.push('auth.token_missing', 'auth.token_invalid', 'access.denied', 'auth.password_change_required');
  codes.push('request.invalid');
  // A body is parsed even if the operation takes none.
  if (method !== 'get' && method !== 'head')
    codes.push('request.malformed_json', 'request.too_large', 'request.unsupported_media_type');
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of new Set(codes))
    byStatus.set(errorKind(code).status, [...(byStatus.get(errorKind(code).status) ?? []), code]);
  for (const [status, list] of [...byStatus].sort(([a], [b]) => a - b))
    operation.responses[String(status)] = errorResponse(list);
  const permission = operation['x-permission'];
  const keysNote = operation['x-keys'] === true ? '' : '; not available to API keys';
  if (permission !== undefined && permission !== 'none')
    operation.description = `${operation.description ?? ''}\n\nPermission: \`${permission}\`${keysNote}`.trim();
  for (const parameter of operation.parameters ?? []) {
    const description = parameter.in === 'path' ? pathParameters[parameter.name] : undefined;
    if (description !== undefined) parameter.description ??= description;
  }
  if (method === 'get' || method === 'delete') delete operation.requestBody;
}

function errorResponse(codes: ErrorCode[]): unknown {
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
