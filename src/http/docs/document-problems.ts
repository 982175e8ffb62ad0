import { STATUS_CODES } from 'node:http';
import { limitFault } from '../errors/app-error';
import { type ErrorCode, errorKind } from '../errors/error-codes';
import { namedEnum } from '../../platform/named-enum';
import { perPageMax } from '../lists/list-query';
import { type Components, pascalCase, type PlacedOperation, refTo, type Response, type Schema } from './document-types';

/** Codes that most operations share. They do not appear in the names of problems. */
const commonCodes: ErrorCode[] = [
  'request.invalid',
  'request.malformed_json',
  'request.not_found',
  'auth.token_missing',
  'auth.token_invalid',
  'auth.key_invalid',
  'access.denied',
  'auth.password_change_required',
  'auth.second_factor_enrollment_required',
  'request.rate_limited',
  'service.database_unavailable',
];
/** Names of the sets of several special codes that operations share. */
const sharedNames: Record<string, string> = {
  'access.grant_exceeds_own,access.protected_user,user.self_protected': 'UserChangeForbidden',
  'access.protected_user,user.self_protected': 'UserProtected',
  'auth.cross_origin,auth.ip_not_allowed': 'LoginRefused',
  'bulk.expected_mismatch,bulk.set_changed,idempotency.in_progress,operation.overlaps': 'BulkConflict',
  'bulk.filter_required,bulk.too_many': 'BulkInvalid',
  'page.cursor_invalid,page.too_deep': 'PageInvalid',
};
/** Members that only the problems of one code have (RFC 9457 §3.2). */
const members: Partial<Record<ErrorCode, Record<string, Schema>>> = {
  'auth.second_factor_required': {
    challenge: {
      type: 'string',
      description: 'secret for `POST /auth/second-factor`; works once',
      example: 'Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M',
    },
    expires_in: {
      type: 'integer',
      format: 'int32',
      description: 'seconds until the challenge expires',
      example: 300,
    },
    factors: {
      type: 'array',
      items: refTo('schemas', 'FactorMethod'),
      description: 'what the user can send with the challenge',
      example: ['totp', 'recovery_code'],
    },
  },
};
/** What can complete a login: an authenticator app, a passkey or a recovery code. */
namedEnum('FactorMethod', ['totp', 'passkey', 'recovery_code']);
const requestId = 'a3c1f6de-52b8-4f0e-9d27-6b8e1c0f4a95';

/** Collects the error responses. Operations with the same codes share a response. */
export class ProblemResponses {
  /** codes of each response by its name */
  private readonly known = new Map<string, string>();

  constructor(private readonly components: Components) {
    components.headers['RetryAfter'] = {
      description: 'Seconds to wait before the next request',
      schema: { type: 'integer', format: 'int32', minimum: 0, example: 2 },
    };
    components.headers['WWWAuthenticate'] = {
      description:
        'Challenge (RFC 6750, RFC 9470): `Bearer`; with `error="invalid_token"` after `auth.token_invalid` ' +
        'and `auth.key_invalid`; ' +
        'with `error="insufficient_user_authentication"` and `max_age`, the seconds in which an authentication is ' +
        'fresh, after `auth.reauthentication_required`',
      schema: { type: 'string', example: 'Bearer error="insufficient_user_authentication", max_age="300"' },
    };
  }

  /** Returns a reference to the response with these codes of one status. */
  refFor({ path, operation }: PlacedOperation, codes: ErrorCode[]): { $ref: string } {
    const sorted = specificFirst(codes);
    const text = sorted.join();
    const plain = nameOf(sorted);
    // Two sets can have the same name if they differ in common codes only.
    const isTaken = (this.known.get(plain ?? '') ?? text) !== text;
    const name = plain === undefined || isTaken ? pascalCase(operation.operationId) + statusName(sorted) : plain;
    if (!this.known.has(name)) {
      this.known.set(name, text);
      this.components.schemas[`${name}Problem`] = schemaOf(sorted);
      this.components.responses[name] = responseOf(`${name}Problem`, sorted, path);
    }
    return refTo('responses', name);
  }
}

/** The first code is the sample of the explorer. */
function specificFirst(codes: ErrorCode[]): ErrorCode[] {
  const rank = (code: ErrorCode) => Number(commonCodes.includes(code));
  return [...codes].sort().sort((one, other) => rank(one) - rank(other));
}

/**
 * Returns the name of a set of codes, or undefined for several special codes that no operations
 * share. Such a set is named after its operation and status, such as `ChangeUserConflict`.
 */
function nameOf(codes: ErrorCode[]): string | undefined {
  const [first] = codes;
  if (codes.length === 1 && first !== undefined) return pascalCase(first);
  const special = codes.filter((code) => !commonCodes.includes(code));
  if (special.length === 0) return statusName(codes);
  return special.length === 1 ? special.map(pascalCase).join() : sharedNames[special.join()];
}

/** Returns the name of the status of codes, such as `NotFound`. */
function statusName([code = 'request.invalid']: ErrorCode[]): string {
  return (STATUS_CODES[errorKind(code).status] ?? '').replace(/\W/g, '');
}

/** Narrows `code` to the codes of the response. */
function schemaOf(codes: ErrorCode[]): Schema {
  const code: Schema = { type: 'string', enum: codes, description: 'stable code of the error', example: codes[0] };
  const own = Object.fromEntries(codes.flatMap((one) => Object.entries(describedMembers(one))));
  return {
    description: `Problem with the code ${codes.map((one) => `\`${one}\``).join(' or ')}`,
    allOf: [refTo('schemas', 'ProblemResponse'), { type: 'object', properties: { code, ...own } }],
  };
}

/** Returns the members of a code, which the other codes of a response lack. */
function describedMembers(code: ErrorCode): Record<string, Schema> {
  return Object.fromEntries(
    Object.entries(members[code] ?? {}).map(([name, { description, ...schema }]) => [
      name,
      { ...schema, description: `${description}; only with the code \`${code}\`` },
    ]),
  );
}

function responseOf(schema: string, codes: ErrorCode[], path: string): Response {
  const retries = codes.some((code) => errorKind(code).retry_after_seconds !== undefined);
  const challenges = codes.some((code) => errorKind(code).status === 401);
  const headers = {
    ...(retries ? { 'Retry-After': refTo('headers', 'RetryAfter') } : {}),
    ...(challenges ? { 'WWW-Authenticate': refTo('headers', 'WWWAuthenticate') } : {}),
  };
  return {
    description: codes.map((code) => `\`${code}\`: ${errorKind(code).title}`).join('; '),
    content: {
      'application/problem+json': {
        schema: refTo('schemas', schema),
        examples: Object.fromEntries(
          codes.map((code) => [code, { summary: errorKind(code).title, value: exampleOf(code, path) }]),
        ),
      },
    },
    ...(retries || challenges ? { headers } : {}),
  };
}

function exampleOf(code: ErrorCode, path: string): object {
  const { status, title, meaning } = errorKind(code);
  const fields = code === 'request.invalid' ? { errors: [invalidFieldOf(path)] } : {};
  return {
    type: `https://identity.example.net/docs/errors/${code}`,
    title,
    status,
    detail: meaning,
    instance: path,
    code,
    request_id: requestId,
    ...fields,
    ...Object.fromEntries(Object.entries(members[code] ?? {}).map(([name, { example }]) => [name, example])),
  };
}

function invalidFieldOf(path: string): object {
  const detail = 'is not a parameter of this operation';
  return path.endsWith('/list')
    ? { parameter: 'per_page', ...limitFault('parameter.malformed', { min: 1, max: perPageMax }) }
    : { parameter: 'verbose', code: 'parameter.unknown', detail };
}
