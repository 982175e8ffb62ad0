import type { IncomingMessage } from 'node:http';
import { AppError } from '../common/errors/app-error';

const bearer = /^Bearer +([^\s]+)$/i;
const basic = /^Basic +([A-Za-z0-9+/]+={0,2})$/i;

/**
 * The access token of a request, from `Authorization: Bearer` or `X-Auth-Token`; null when neither
 * is there.
 * @throws auth.token_invalid when there are two that differ, or a header is repeated
 */
export function accessTokenFrom(request: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): string | null {
  const { authorization, 'x-auth-token': older } = request.headers;
  if (authorization === undefined && older === undefined) return null;
  if (repeats(request.rawHeaders)) throw new AppError('auth.token_invalid');
  const fromBearer = authorization === undefined ? null : (bearer.exec(authorization)?.[1] ?? null);
  const fromOlder = typeof older === 'string' && older !== '' ? older : null;
  if (authorization !== undefined && older !== undefined && fromBearer !== fromOlder)
    throw new AppError('auth.token_invalid');
  return fromBearer ?? fromOlder;
}

/** Of a client of OAuth. */
export interface ClientCredentials {
  client_id: string;
  client_secret: string;
}

/**
 * A key for machines as libraries for OAuth send the credentials of a client, its id and itself
 * (RFC 6749 §2.3.1); null when there are none, empty when they cannot be read.
 */
export function clientCredentialsFrom({ headers }: Pick<IncomingMessage, 'headers'>): ClientCredentials | null {
  const encoded = basic.exec(headers.authorization ?? '')?.[1];
  if (encoded === undefined) return null;
  const [client_id = '', client_secret = ''] = Buffer.from(encoded, 'base64').toString().split(':');
  try {
    // both are encoded as in a form; neither an id nor a key has anything that a form writes
    // otherwise than a URL
    return { client_id: decodeURIComponent(client_id), client_secret: decodeURIComponent(client_secret) };
  } catch {
    return { client_id: '', client_secret: '' };
  }
}

/**
 * Node keeps the first of two Authorization headers and drops the other; a proxy may have looked at
 * the other one.
 */
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
