// The measured paths of `npm run bench`: each with its load, its baseline under the same load, and
// a target for the ratio. A load is a function that creates new requests for each round.
const { checkRequest, dealOut, loginRequest, sameFor, verifyRequest } = require('./callers');
const { addSessions, choose, resetSessions } = require('./fill');
const { LISTS } = require('./lists');

const CHECK_CONNECTIONS = 64;
const READ_CONNECTIONS = 32;
const FEW_CONNECTIONS = 16;
const LIST_BY_NAME = 'order_by=name&order_dir=asc&status=active&carrier_id=carrier-';

/** Defines the paths, on a database with users. */
async function definePaths({ database: { client }, service: { url, child }, baselines }, logins) {
  const tokens = (await logins.openMany(2 * CHECK_CONNECTIONS)).map(({ access_token }) => access_token);
  const sessions = await addSessions(client, READ_CONNECTIONS);
  const [administrator] = await choose(client, `roles @> '{administrator}'`, 1);
  const { access_token } = await logins.open(administrator);
  const ids = (await choose(client, 'true', 200 * FEW_CONNECTIONS)).map(({ user_id }) => user_id);

  const [anyone, caller] = [{ url }, { url, headers: { authorization: `Bearer ${access_token}` } }];
  const [hello, plain] = [{ url: baselines.hello }, { url: baselines.plain }];
  const get = (to, requests) => () => ({ ...to, method: 'GET', requests });
  const post = (to, toRequests) => async () => ({ ...to, method: 'POST', requests: await toRequests() });

  const check = (connections) => ({
    name: `check-token, ${connections} connections`,
    load: post(anyone, () => dealOut(tokens, connections, checkRequest)),
    baseline: { name: 'Nest hello', load: get(hello, sameFor(connections, { path: '/hello' })) },
    target: 0.5,
    p99Max: 10,
  });
  const verify = (connections) => ({
    name: `verify, ${connections} connections`,
    load: get(anyone, dealOut(tokens, connections, verifyRequest)),
    baseline: { name: 'check-token', child, load: check(connections).load },
    target: 0.95,
    p99Max: 10,
  });
  const chains = (to, path, toTokens) =>
    post({ ...to, chain: true }, async () =>
      (await toTokens()).map((refresh_token) => [{ path, body: JSON.stringify({ refresh_token }) }]),
    );
  const openRefreshTokens = async () => (await logins.openMany(READ_CONNECTIONS)).map((one) => one.refresh_token);
  const ofUsers = dealOut(ids, FEW_CONNECTIONS, (id) => ({ path: `/user/${id}` }));
  const newest = (path) => sameFor(FEW_CONNECTIONS, { path });
  const byName = (path) =>
    dealOut([...Array(200).keys()], FEW_CONNECTIONS, (number) => ({ path: `${path}?${LIST_BY_NAME}${number}` }));
  const creations = createUsers();
  return [
    check(CHECK_CONNECTIONS),
    check(FEW_CONNECTIONS),
    verify(CHECK_CONNECTIONS),
    verify(FEW_CONNECTIONS),
    {
      name: 'check-token, refresh',
      load: chains(anyone, '/auth/check-token', openRefreshTokens),
      baseline: { name: 'UPDATE + sign', load: chains(plain, '/refresh', () => resetSessions(client, sessions)) },
      target: 0.5,
    },
    {
      name: 'login',
      load: post(anyone, () => dealOut(logins.take(100 * FEW_CONNECTIONS), FEW_CONNECTIONS, loginRequest)),
      baseline: { name: 'bare Argon2id', load: null },
      target: 0.88,
    },
    {
      name: 'GET /user',
      load: get(caller, sameFor(READ_CONNECTIONS, { path: '/user' })),
      baseline: { name: '/health/live', child, load: get(anyone, sameFor(READ_CONNECTIONS, { path: '/health/live' })) },
      target: 0.55,
    },
    {
      name: 'GET /user/{user_id}',
      load: get(caller, ofUsers),
      baseline: { name: 'Fastify + pg', load: get(plain, ofUsers) },
      target: 0.55,
    },
    {
      name: 'list of 50, newest',
      load: get(caller, newest('/user/list?count=none')),
      baseline: { name: 'Fastify + pg', load: get(plain, newest(LISTS[0].path)) },
      target: 0.6,
    },
    {
      name: 'list of 50, carrier by name',
      load: get(caller, byName('/user/list')),
      baseline: { name: 'Fastify + pg', load: get(plain, byName('/user/by-name')) },
      target: 0.6,
    },
    {
      name: 'POST /user/create',
      load: post(caller, () => creations('/user/create')),
      baseline: { name: 'Fastify + pg', load: post(plain, () => creations('/create')) },
      target: 0.5,
    },
  ];
}

/** Returns a function that returns requests to create new users without passwords. */
function createUsers() {
  let number = 0;
  const request = (path) => {
    const name = `created.${++number}`;
    const [first_name, last_name, roles] = ['Test', `Created ${number}`, ['carrier_user']];
    const carrier_id = `carrier-${number % 200}`;
    const user = { user_type: 'carrier', name, email: `${name}@example.org`, first_name, last_name, carrier_id, roles };
    return { path, body: JSON.stringify(user) };
  };
  return (path) => Array.from({ length: FEW_CONNECTIONS }, () => Array.from({ length: 500 }, () => request(path)));
}

module.exports = { definePaths };
