import type { components } from './schema';

/** An invalid field or parameter of a request. */
export type FieldError = components['schemas']['FieldErrorResponse'];

interface ProblemFields {
  code: string;
  /** HTTP status; 0 if there is no response */
  status: number;
  title?: string;
  detail?: string;
  errors?: FieldError[];
  request_id?: string;
  /** seconds to wait before the next attempt */
  retryAfter?: number | null;
}

/** A failed request: a problem of the API (RFC 9457), or a failure of the network. */
export class ApiProblem extends Error {
  readonly code: string;
  readonly status: number;
  readonly detail: string;
  readonly errors: FieldError[];
  readonly requestId: string | null;
  readonly retryAfter: number | null;

  constructor(
    fields: ProblemFields,
    /** all members of the body, such as `challenge` of a login */
    readonly body: Record<string, unknown> = {},
  ) {
    super(fields.title ?? fields.code);
    this.code = fields.code;
    this.status = fields.status;
    this.detail = fields.detail ?? '';
    this.errors = fields.errors ?? [];
    this.requestId = fields.request_id ?? null;
    this.retryAfter = fields.retryAfter ?? null;
  }
}

/** Returns the problem of a failed response. */
export async function problemOf(response: Response): Promise<ApiProblem> {
  const retryAfter = Number(response.headers.get('retry-after')) || null;
  const requestId = response.headers.get('x-request-id');
  try {
    const body = (await response.json()) as Record<string, unknown>;
    if (typeof body['code'] !== 'string') throw new TypeError('not a problem');
    return new ApiProblem({ ...(body as unknown as ProblemFields), status: response.status, retryAfter }, body);
  } catch {
    const fields = { code: 'network.unexpected_response', status: response.status, retryAfter };
    return new ApiProblem(requestId === null ? fields : { ...fields, request_id: requestId });
  }
}

/** Sends a request. @throws ApiProblem `network.unreachable` if there is no response */
export async function fetchOrProblem(request: Request): Promise<Response> {
  try {
    return await fetch(request);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiProblem({ code: 'network.unreachable', status: 0 });
  }
}

/** Returns whether a value is a problem with one of the codes. */
export function isProblem(error: unknown, ...codes: string[]): error is ApiProblem {
  return error instanceof ApiProblem && (codes.length === 0 || codes.includes(error.code));
}
