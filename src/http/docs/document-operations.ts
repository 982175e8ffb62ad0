import { type ErrorCode, errorKind } from '../errors/error-codes';
import type { ProblemResponses } from './document-problems';
import { makeIntegers } from './document-schemas';
import {
  type Components,
  type Operation,
  type Parameter,
  pascalCase,
  type PlacedOperation,
  refTo,
  type Response,
} from './document-types';
import type { Examples } from './examples';

/** Path parameters. A parameter has the same meaning in every path. */
const pathParameters: Record<string, Pick<Parameter, 'description' | 'example'>> = {
  user_id: { description: 'Id of the user, a UUID. Other text returns 404.' },
  operation_id: { description: 'Id of the operation, a UUID. Other text returns 404.' },
  factor_id: { description: 'Id of the second factor, a UUID. Other text returns 404.' },
  webhook_id: { description: 'Id of the webhook, a UUID. Other text returns 404.' },
  delivery_id: { description: 'Id of the delivery, a UUID. Other text returns 404.' },
  address_block_id: { description: 'Id of the address block, a UUID. Other text returns 404.' },
  key_id: { description: 'Id of the API key, a UUID. Other text returns 404.' },
  mail_id: { description: 'Id of the mail, a UUID. Other text returns 404.' },
  session_id: { description: 'Id of the session, a UUID. Other text returns 404.' },
  role: { description: 'Name of the role, case-sensitive' },
  token: { description: 'Token of the link', example: 'Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M' },
};
/** Files that an import accepts as they are. */
const fileExamples: Record<string, string> = {
  'text/csv':
    'user_type,carrier_id,name,email,first_name,last_name\n' + 'carrier,acme,grace,grace@example.com,Grace,Hopper\n',
  'application/x-ndjson':
    '{"user_type":"carrier","carrier_id":"acme","name":"joan","email":"joan@example.com","roles":["carrier_user"]}\n',
};

/** Completes an operation: its parameters, examples, error responses and texts. */
export function completeOperation(placed: PlacedOperation, problems: ProblemResponses, examples: Examples): void {
  const { operation, method } = placed;
  operation.security ??= [];
  const parameters = (operation.parameters ?? []) as Parameter[];
  for (const parameter of parameters) completeParameter(parameter, examples);
  // Moves the filters to the end. The sort is stable, so the other parameters keep their order.
  parameters.sort((a, b) => Number(a['x-filter'] !== undefined) - Number(b['x-filter'] !== undefined));
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codesOf(placed, parameters))
    byStatus.set(errorKind(code).status, [...(byStatus.get(errorKind(code).status) ?? []), code]);
  for (const [status, codes] of [...byStatus].sort(([a], [b]) => a - b))
    operation.responses[String(status)] = problems.refFor(placed, codes);
  const permission = operation['x-permission'];
  const keysNote = operation['x-keys'] === true ? '' : '; not available to API keys';
  if (permission !== undefined && permission !== 'none')
    operation.description = `${operation.description ?? ''}\n\nPermission: \`${permission}\`${keysNote}`.trim();
  if (operation['x-fresh-auth'] === true) operation.description += freshNote(operation);
  if (['get', 'head', 'delete'].includes(method)) delete operation.requestBody;
  addBodyExamples(operation, examples);
}

function completeParameter(parameter: Parameter, examples: Examples): void {
  const isPath = parameter.in === 'path';
  if (isPath) Object.assign(parameter, pathParameters[parameter.name]);
  if (isPath && parameter.name.endsWith('_id')) parameter.schema.format = 'uuid';
  makeIntegers(parameter.schema);
  parameter.example ??= examples.ofField(parameter.name, parameter.schema);
  delete parameter.schema.example;
}

/** Codes of requests by users who have no rights for now. */
const restrictions: ErrorCode[] = ['auth.password_change_required', 'auth.second_factor_enrollment_required'];

function freshNote({ 'x-fresh-auth-if': condition }: Operation): string {
  return `\n\nRequires a fresh authentication${condition === undefined ? '' : ` if ${condition}`}.`;
}

/** Returns all error codes of an operation: its own, and those of every operation of its kind. */
function codesOf({ operation, method }: PlacedOperation, parameters: Parameter[]): Set<ErrorCode> {
  const codes: ErrorCode[] = [
    ...(operation['x-error-codes'] ?? []),
    'request.rate_limited',
    // A list of 500 long values does not fit into a request.
    'request.headers_too_large',
    'service.internal_error',
    'service.database_unavailable',
  ];
  // Ids that are not UUIDs, and paths with escapes.
  if (parameters.some(({ in: place }) => place === 'path')) codes.push('request.not_found');
  if (parameters.some(({ name }) => name === 'Idempotency-Key'))
    codes.push('idempotency.in_progress', 'idempotency.key_reused');
  if (parameters.some(({ name }) => name === 'X-Api-Key')) codes.push('auth.key_invalid', 'access.denied');
  if (operation['x-permission'] !== 'none')
    codes.push('auth.token_missing', 'auth.token_invalid', 'auth.key_invalid', 'access.denied', ...restrictions);
  if (operation['x-fresh-auth'] === true) codes.push('auth.reauthentication_required');
  codes.push('request.invalid');
  // A body is parsed even if the operation takes none.
  if (method !== 'get' && method !== 'head')
    codes.push('request.malformed_json', 'request.too_large', 'request.unsupported_media_type');
  return new Set(codes);
}

function addBodyExamples({ requestBody }: Operation, examples: Examples): void {
  for (const [type, content] of Object.entries(requestBody?.content ?? {})) {
    content.example = fileExamples[type] ?? examples.ofBody(content.schema, requestBody?.required === true);
  }
}

/** Moves the parameters that several operations share to the components. */
export function shareParameters(operations: PlacedOperation[], components: Components): void {
  const parametersOf = ({ operation }: PlacedOperation) => (operation.parameters ?? []) as Parameter[];
  const all = operations.flatMap(parametersOf).map((parameter) => JSON.stringify(parameter));
  const shared = new Set(all.filter((text, index) => all.indexOf(text) !== index));
  for (const placed of operations)
    placed.operation.parameters = parametersOf(placed).map((parameter) => {
      const name = componentName(parameter);
      const known = components.parameters[name] ?? parameter;
      const text = JSON.stringify(parameter);
      if (!shared.has(text) || JSON.stringify(known) !== text) return parameter;
      components.parameters[name] = parameter;
      return refTo('parameters', name);
    });
}

/** Names a filter after what it selects: lists of users and of sessions both have `carrier_id`. */
function componentName({ name, in: place, 'x-filter': filter }: Parameter): string {
  if (filter !== undefined) return pascalCase(`${filter}_filter_${name}`);
  return pascalCase(place === 'path' ? `${name}_path` : name);
}

/** Moves the schema of each response with alternatives to the components, under its title. */
export function shareUnions(operations: PlacedOperation[], components: Components): void {
  for (const { operation } of operations)
    for (const response of Object.values(operation.responses) as Response[])
      for (const content of Object.values(response.content ?? {})) {
        const { title, ...union } = content.schema ?? {};
        if (title === undefined || union.oneOf === undefined) continue;
        components.schemas[title] = union;
        content.schema = refTo('schemas', title);
      }
}
