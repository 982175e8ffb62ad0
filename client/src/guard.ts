import { IdentityError, isInvalidToken, isUnavailable } from './errors.js';
import type { Caller, Verifier } from './verifier.js';

/** Response to a rejected request: status, headers and body (RFC 6750, RFC 9457). */
export interface Rejection {
  status: 401 | 403 | 503;
  headers: Record<string, string>;
  body: { title: string; status: number; code: string; detail: string };
}

/** Result of a guard. */
export type Decision = { caller: Caller; rejection?: never } | { caller?: never; rejection: Rejection };

/**
 * Decides whether a request is allowed, by its `Authorization` header. The caller needs each of
 * `permissions`.
 * @throws IdentityError if the key of the module is wrong or lacks a permission: respond with 500
 */
export async function authorize(
  verifier: Verifier,
  authorization: string | undefined,
  permissions: readonly string[],
): Promise<Decision> {
  const token = /^bearer +([\w.~+/-]+=*) *$/i.exec(authorization ?? '')?.[1];
  if (token === undefined) return reject(401, 'auth.token_missing', 'Send an access token.');
  try {
    const caller = await verifier.verify(token);
    const missing = permissions.find((permission) => !caller.can(permission));
    if (missing === undefined) return { caller };
    const scope = permissions.join(' ');
    return reject(403, 'access.denied', `The permission ${missing} is missing.`, {
      error: 'insufficient_scope',
      scope,
    });
  } catch (error) {
    if (isInvalidToken(error)) return reject(401, 'auth.token_invalid', 'Log in again.', { error: 'invalid_token' });
    if (!isUnavailable(error)) throw error;
    const { retryAfter = 1 } = error as IdentityError;
    const { rejection } = reject(503, 'service.unavailable', 'The token cannot be checked at the moment. Try again.');
    return { rejection: { ...rejection, headers: { 'retry-after': String(retryAfter) } } };
  }
}

const titles = { 401: 'Unauthorized', 403: 'Forbidden', 503: 'Service unavailable' };

function reject(
  status: Rejection['status'],
  code: string,
  detail: string,
  attributes: Record<string, string> = {},
): { rejection: Rejection } {
  const challenge = Object.entries(attributes).map(([name, value]) => `${name}="${value}"`);
  const headers = { 'www-authenticate': ['Bearer', challenge.join(', ')].join(' ').trim() };
  return { rejection: { status, headers, body: { title: titles[status], status, code, detail } } };
}
