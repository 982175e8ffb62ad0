import type { FastifyRequest } from 'fastify';
import { AppError } from '../../http/errors/app-error';
import { countHeader } from '../../http/head-rules';

/** The parts of a request that can contain a token. */
type RequestHead = Pick<FastifyRequest, 'headers'> & { raw: Pick<FastifyRequest['raw'], 'rawHeaders'> };

const bearer = /^Bearer +([^\s]+)$/i;
const basic = /^Basic +([A-Za-z0-9+/]+={0,2})$/i;

/**
 * Returns the access token in `Authorization: Bearer` or `X-Auth-Token`, or null if there is none.
 * Node keeps only the first of two Authorization headers, but a proxy may have used the second.
 * @throws auth.token_invalid if a header is repeated, or the two headers have different tokens
 */
export function accessTokenFrom({ headers, raw: { rawHeaders } }: RequestHead): string | null {
  const { authorization, 'x-auth-token': xAuthToken } = headers;
  if (authorization === undefined && xAuthToken === undefined) return null;
  const isRepeated = countHeader(rawHeaders, 'authorization') > 1 || countHeader(rawHeaders, 'x-auth-token') > 1;
  if (isRepeated) throw new AppError('auth.token_invalid');
  const fromBearer = authorization === undefined ? null : (bearer.exec(authorization)?.[1] ?? null);
  const fromOwnHeader = typeof xAuthToken === 'string' && xAuthToken !== '' ? xAuthToken : null;
  if (authorization !== undefined && xAuthToken !== undefined && fromBearer !== fromOwnHeader)
    throw new AppError('auth.token_invalid');
  return fromBearer ?? fromOwnHeader;
}

/** Returns the access token like `accessTokenFrom`, or null where `accessTokenFrom` throws. */
export function findAccessToken(request: RequestHead): string | null {
  try {
    return accessTokenFrom(request);
  } catch {
    return null;
  }
}

/** Client credentials of OAuth 2.0. */
export interface ClientCredentials {
  client_id: string;
  client_secret: string;
}

/**
 * Returns the client credentials in `Authorization: Basic`, or without this header those in the
 * form (RFC 6749 §2.3.1: `client_secret_basic`, `client_secret_post`).
 * OAuth 2.0 libraries send the id of an API key as `client_id` and the key as `client_secret`.
 * @returns null if there are none; empty texts if they cannot be decoded
 */
export function clientCredentialsFrom({
  headers: { authorization },
  body,
}: Pick<FastifyRequest, 'headers' | 'body'>): ClientCredentials | null {
  const { client_id = '', client_secret } = (body ?? {}) as Partial<ClientCredentials>;
  if (authorization === undefined) return client_secret === undefined ? null : { client_id, client_secret };
  const encoded = basic.exec(authorization)?.[1];
  return encoded === undefined ? null : decodeCredentials(encoded);
}

function decodeCredentials(encoded: string): ClientCredentials {
  const [client_id = '', client_secret = ''] = Buffer.from(encoded, 'base64').toString().split(':');
  try {
    // Both are form-encoded. Ids and API keys contain no character that forms and URLs encode
    // differently.
    return { client_id: decodeURIComponent(client_id), client_secret: decodeURIComponent(client_secret) };
  } catch {
    return { client_id: '', client_secret: '' };
  }
}
