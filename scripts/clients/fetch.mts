// Uses the types of openapi-typescript with openapi-fetch.
import assert from 'node:assert/strict';
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.js';

const [baseUrl = '', login = '', password = '', suffix = '', ...given] = process.argv.slice(2);
const [factorLogin = '', loginCode = '', freshCode = '', oldToken = ''] = given;
const client = createClient<paths>({ baseUrl, querySerializer: { array: { style: 'form', explode: false } } });
/** Returns the data of a response, or throws its problem. */
async function take<T>(response: Promise<{ data?: T; error?: { code: string; detail: string } }>): Promise<T> {
  const { data, error } = await response;
  if (error !== undefined) throw new Error(`${error.code}: ${error.detail}`);
  return data as T;
}

const session = await take(client.POST('/auth/login', { body: { login, password } }));
client.use({
  onRequest: ({ request }) => request.headers.set('Authorization', `Bearer ${session.access_token}`) as undefined,
});
const wanted: components['schemas']['CreateUserRequest'] = {
  ...{ user_type: 'carrier', carrier_id: 'fetch', name: `ft-${suffix}`, email: `ft-${suffix}@example.com` },
  ...{ phone: '+4312345678', roles: ['carrier_user'], allowed_ips: ['203.0.113.0/24'], attributes: { tier: 'gold' } },
};
const created = await take(client.POST('/user/create', { body: wanted }));
const second = { ...wanted, name: `ft2-${suffix}`, email: `ft2-${suffix}@example.com` };
await take(client.POST('/user/create', { body: second }));

const found: string[] = [];
for (let cursor: string | null | undefined; cursor !== null;) {
  const query = {
    carrier_id_in: ['fetch', 'other'],
    per_page: 1,
    order_by: 'name' as const,
    ...(cursor ? { cursor } : {}),
  };
  const page = await take(client.GET('/user/list', { params: { query } }));
  found.push(...page.items.map(({ user_id }) => user_id));
  cursor = page.next_cursor;
}
assert.equal(found.length, 2);

const path = { user_id: created.user_id };
const changed = await take(client.PATCH('/user/{user_id}', { params: { path }, body: { locale: 'en' } }));
const { locale, updated_at, version, ...rest } = changed;
assert.equal(locale, 'en');
assert.deepEqual({ ...created, ...rest }, created);

const body = { timezone: 'Europe/Vienna' };
const preview = await take(
  client.PATCH('/user/all', { params: { query: { carrier_id: 'fetch', dry_run: true } }, body }),
);
assert.ok(preview.kind === 'preview');
const query = { carrier_id: 'fetch', confirm_token: preview.confirm_token };
const result = await take(client.PATCH('/user/all', { params: { query }, body }));
assert.ok(result.kind === 'result' && result.changed === 2);

const { session_id } = await take(client.POST('/auth/login', { body: { login, password } }));
await client.DELETE('/auth/session/{session_id}', { params: { path: { session_id } } });
const sessions = await take(client.GET('/auth/session/list', { params: { query: { session_id } } }));
assert.equal(sessions.items[0]?.ended_reason, 'revoked');

const overview = await take(client.GET('/stats/overview'));
assert.ok(overview.logins.length === 24 && overview.users.length > 0);
const link = await take(client.POST('/user/export/link', { params: { query: { carrier_id: 'fetch' } } }));
assert.ok((await (await fetch(link.url)).text()).includes(created.email));

// Only pages of the service may keep the refresh token in a cookie.
const inCookie = { login, password, transport: 'cookie' as const };
const refused = await client.POST('/auth/login', { body: inCookie });
assert.equal(refused.error?.code, 'auth.cross_origin');
const fromPage = await client.POST('/auth/login', { body: inCookie, headers: { Origin: baseUrl } });
assert.ok(fromPage.data !== undefined && fromPage.data.refresh_token === undefined);
assert.match(fromPage.response.headers.get('Set-Cookie') ?? '', /HttpOnly/);

const { error } = await client.POST('/user/create', { body: wanted });
// The type of the code is the union of the codes of this operation.
const code: 'user.name_taken' | 'user.email_taken' | string | undefined = error?.code;
assert.match(code ?? '', /_taken$/);

const { error: required } = await client.POST('/auth/login', { body: { login: factorLogin, password } });
assert.ok(required !== undefined && 'challenge' in required && required.code === 'auth.second_factor_required');
const { challenge = '', expires_in = 0, factors = [] } = required;
assert.ok(expires_in > 0 && factors.includes('recovery_code'));
await take(client.POST('/auth/second-factor', { body: { challenge, recovery_code: loginCode } }));

const old = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${oldToken}` } });
const role = { name: `ft-${suffix}`, user_types: ['system' as const] };
const stale = await old.POST('/role/create', { body: role });
assert.equal(stale.error?.code, 'auth.reauthentication_required');
assert.match(stale.response.headers.get('WWW-Authenticate') ?? '', /max_age="300"/);
const renewed = await take(old.POST('/auth/reauthenticate', { body: { recovery_code: freshCode } }));
const fresh = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${renewed.access_token}` } });
await take(fresh.POST('/role/create', { body: role }));
console.log('ok');
