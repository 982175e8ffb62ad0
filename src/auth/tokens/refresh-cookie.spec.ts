import { RefreshCookie } from './refresh-cookie';

const attributes = 'Path=/; HttpOnly; SameSite=Strict';
const secure = 'HttpOnly; Secure; SameSite=Strict';

it.each([
  ['https://identity.example.net', '', '__Host-carrier-identity', `Path=/; ${secure}`],
  ['https://identity.example.net', '/identity', '__Secure-carrier-identity', `Path=/identity/auth; ${secure}`],
  ['http://192.0.2.7:3000', '', '__Host-carrier-identity', `Path=/; ${secure}`],
  ['http://localhost:8080', '', 'carrier-identity-8080', attributes],
  ['http://localhost', '/identity', 'carrier-identity-80', 'Path=/identity/auth; HttpOnly; SameSite=Strict'],
])('names the refresh cookie of %s, BASE_PATH "%s" (S20)', (PUBLIC_URL, BASE_PATH, name, expected) => {
  const sent: string[] = [];
  const cookie = new RefreshCookie({ PUBLIC_URL, BASE_PATH }, `${name}=a`, (setCookie) => sent.push(setCookie));
  expect(cookie.read()).toBe('a');
  cookie.write('b', 60);
  cookie.remove();
  expect(sent).toEqual([`${name}=b; Max-Age=60; ${expected}`, `${name}=; Max-Age=0; ${expected}`]);
});
