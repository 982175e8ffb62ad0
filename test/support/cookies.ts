import type { TestAnswer } from './service';

/** Form of a refresh token. */
export const refreshTokenForm = /^[A-Za-z0-9_-]{86}$/;
/** What browsers add to requests of pages of the service. */
export const sameOrigin = { 'sec-fetch-site': 'same-origin' };

/** Returns the `Set-Cookie` headers of a response. */
export function setCookiesOf({ headers }: TestAnswer): string[] {
  return [headers['set-cookie'] ?? []].flat().map(String);
}

/** Returns the value of the only cookie that a response sets. */
export function cookieOf(answer: TestAnswer): string {
  const cookies = setCookiesOf(answer);
  if (answer.status !== 200 || cookies.length !== 1) throw new Error(`no cookie: ${answer.text}`);
  return /=([^;]*)/.exec(cookies[0] ?? '')?.[1] ?? '';
}
