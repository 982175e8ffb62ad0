import { RefreshCookie } from './refresh-cookie';

const host = '__Host-carrier-identity';
const secure = '__Secure-carrier-identity';
const local = 'carrier-identity-3000';
const atRoot = { PUBLIC_URL: 'https://id.example', BASE_PATH: '' };
const below = { PUBLIC_URL: 'https://localhost', BASE_PATH: '/id' };
const onLocalhost = { PUBLIC_URL: 'http://localhost:3000', BASE_PATH: '' };
const attributes = 'HttpOnly; Secure; SameSite=Strict';

it.each([
  [atRoot, `${host}=t; Max-Age=60; Path=/; ${attributes}`],
  [below, `${secure}=t; Max-Age=60; Path=/id/auth; ${attributes}`],
  [onLocalhost, `${local}=t; Max-Age=60; Path=/; HttpOnly; SameSite=Strict`],
  [{ ...onLocalhost, PUBLIC_URL: 'http://localhost' }, expect.stringMatching(/^carrier-identity-80=t/)],
  [{ ...onLocalhost, PUBLIC_URL: 'http://id.example' }, expect.stringContaining(`${host}=t`)],
])('writes and removes the cookie for %j (S20)', (settings, written) => {
  const sent: string[] = [];
  const cookie = new RefreshCookie(settings, undefined, (text) => sent.push(text));
  cookie.write('t', 60);
  cookie.remove();
  expect(sent).toEqual([written, sent[0]?.replace('=t;', '=;').replace('Max-Age=60', 'Max-Age=0')]);
});

it.each<[string | undefined, string | undefined]>([
  [undefined, undefined],
  ['', undefined],
  [`${host}=t`, 't'],
  [`a=b; ${host}=t;c=d`, 't'],
  [`x${host}=t; a=${host}`, undefined],
  [`${host}=t; ${host}=u`, ''],
  [`${host}=t; ${host}=t`, ''],
])('reads from %j the token %j (H22)', (header, token) => {
  expect(new RefreshCookie(atRoot, header, () => undefined).read()).toBe(token);
});
