import type { IncomingMessage } from 'node:http';
import { AppError } from '../common/errors/app-error';

const bearer = /^Bearer +([^\s]+)$/i;

/**
 * The access token of a request, from `Authorization: Bearer` or `X-Auth-Token`; null when neither is there.
 * @throws auth.token_invalid when there are two that differ, or a header is repeated
 */
export function accessTokenFrom(request: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): string | null {
  const { authorization, 'x-auth-token': older } = request.headers;
  if (authorization === undefined && older === undefined) return null;
  if (repeats(request.rawHeaders)) throw new AppError('auth.token_invalid');
  const fromBearer = authorization === undefined ? null : (bearer.exec(authorization)?.[1] ?? null);
  const fromOlder = typeof older === 'string' && older !== '' ? older : null;
  if (authorization !== undefined && older !== undefined && fromBearer !== fromOlder) throw new AppError('auth.token_invalid');
  return fromBearer ?? fromOlder;
}

/** Node keeps the first of two Authorization headers and drops the other; a proxy may have looked at the other one. */
function repeats(rawHeaders: string[]): boolean {
  let authorizations = 0;
  let olders = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase();
    if (name === 'authorization') authorizations++;
    else if (name === 'x-auth-token') olders++;
  }
  return authorizations > 1 || olders > 1;
}
