import type { TestAnswer } from '../service';

/** Form of a refresh token. */
export const refreshTokenForm = /^[A-Za-z0-9_-]{86}$/;
/** What browsers add to requests of pages of the service. */
export const sameOrigin = { 'sec-fetch-site': 'same-origin' };
/** Name of the refresh cookie of a service on port 3000 of localhost. */
export const cookieName = 'carrier-identity-3000';

/** Returns the value of the only cookie that a response sets. */
export function cookieOf({ status, headers, text }: TestAnswer): string {
  const cookies = headers['set-cookie'] ?? [];
  if (status !== 200 || cookies.length !== 1) throw new Error(`no cookie: ${text}`);
  return /=([^;]*)/.exec(cookies[0] ?? '')?.[1] ?? '';
}
