// The traffic of `npm run soak`: streams of requests, with their shares of all requests.
const { loginRequest } = require('./auth-paths');
const { choose, PASSWORD } = require('./fill');
const { Logins } = require('./logins');

const TOKENS = 20_000;
const CHAINS = 64;
const LISTS = [
  'count=none',
  'count=none&order_by=name&order_dir=asc',
  'count=none&order_by=last_seen_at',
  'count=none&order_by=last_login_at',
  'count=none&status=disabled',
  'count=none&online=true',
  'count=none&q=knuth20100',
];

/**
 * Defines the streams. `take` returns the next requests of a stream. A chain has the same requests
 * all the time: each carries the refresh token of the previous response.
 * @returns {Promise<
 *   { name: string, share: number, chain?: boolean, take: (count: number) => object[] }[]
 * >}
 */
async function defineTraffic({ database: { client }, service: { url } }, made) {
  const logins = new Logins(url, await choose(client, `status = 'active' and user_type = 'carrier'`, 50_000));
  const [administrator] = await choose(client, `roles @> '{administrator}'`, 1);
  const reader = bearer((await logins.open(administrator)).access_token);
  const ids = (await choose(client, `user_type = 'carrier'`, TOKENS)).map(({ user_id }) => user_id);
  const tokens = (await made.open(TOKENS)).map(({ access_token }) => access_token);
  const chain = (await logins.openMany(CHAINS)).map(({ refresh_token }) => post('check-token', { refresh_token }));
  const get = (path, headers) => ({ method: 'GET', path, headers });
  let number = 0;
  return [
    { name: 'check-token', share: 0.6, take: inTurn(tokens, (token) => post('check-token', { token })) },
    { name: 'GET /user', share: 0.12, take: inTurn(tokens, (token) => get('/user', bearer(token))) },
    { name: 'GET /user/{user_id}', share: 0.12, take: inTurn(ids, (id) => get(`/user/${id}`, reader)) },
    { name: 'list', share: 0.03, take: inTurn(LISTS, (query) => get(`/user/list?${query}`, reader)) },
    {
      name: 'login',
      share: 0.02,
      take: inTurn(logins.users, (user) => ({ method: 'POST', ...loginRequest(user) })),
    },
    { name: 'refresh', share: 0.06, chain: true, take: () => chain },
    {
      name: 'PATCH',
      share: 0.03,
      take: inTurn(ids, (id) => ({
        method: 'PATCH',
        path: `/user/${id}`,
        headers: reader,
        body: JSON.stringify({ job_title: `Engineer ${number++}` }),
      })),
    },
    {
      name: 'create',
      share: 0.02,
      take: inTurn(ids, () => ({
        method: 'POST',
        path: '/user/create',
        headers: reader,
        body: JSON.stringify(newUser(number++)),
      })),
    },
  ];
}

/** Returns a function that returns requests about the next items. */
function inTurn(items, toRequest) {
  let next = 0;
  return (count) => Array.from({ length: count }, () => toRequest(items[next++ % items.length]));
}

function bearer(access_token) {
  return { authorization: `Bearer ${access_token}` };
}

function post(operation, body) {
  return { method: 'POST', path: `/auth/${operation}`, body: JSON.stringify(body) };
}

function newUser(number) {
  const name = `soak.${number}`;
  return {
    user_type: 'carrier',
    carrier_id: `carrier-${number % 200}`,
    name,
    email: `${name}@example.com`,
    roles: ['carrier_user'],
    password: PASSWORD,
  };
}

module.exports = { defineTraffic };
