// What is measured: each path with its load, its baseline under the same load, and what peers reached.
const { addSessions, choose, PASSWORD, resetSessions } = require('./fill');
const { dealOut, Logins, sameFor } = require('./logins');

const CHECK_CONNECTIONS = 64;
const REFRESH_CONNECTIONS = 32;
const READ_CONNECTIONS = 32;
const LIST_CONNECTIONS = 16;
const LOGIN_CONNECTIONS = 16;
const LIST_BY_NAME = 'order_by=name&order_dir=asc&status=active&carrier_id=carrier-';

/**
 * A load is a function that makes the requests of one round, so that nothing of the round before is used again.
 * @returns {Promise<{ name: string, load: Function, baseline: { name: string, load: Function }, target: number, peers: string }[]>}
 */
async function definePaths(client, service, baselines) {
  const logins = new Logins(service, await choose(client, `status = 'active' and user_type = 'carrier'`, 20_000));
  const [administrator] = await choose(client, `roles @> '{administrator}'`, 1);
  const { access_token } = await logins.open(administrator);
  const reader = { headers: { authorization: `Bearer ${access_token}` }, method: 'GET' };
  const tokens = (await logins.openMany(2 * CHECK_CONNECTIONS)).map((login) => login.access_token);
  const ids = (await choose(client, 'true', 200 * READ_CONNECTIONS)).map(({ user_id }) => user_id);
  const sessions = await addSessions(client, REFRESH_CONNECTIONS);

  const check = (body) => ({ path: '/auth/check-token', body: JSON.stringify(body) });
  const chain = (path, refresh_token) => [{ path, body: JSON.stringify({ refresh_token }) }];
  const reads = dealOut(ids, READ_CONNECTIONS, (id) => ({ path: `/user/${id}` }));
  const carriers = dealOut([...Array(200).keys()], LIST_CONNECTIONS, (number) => ({ path: `/user/list?${LIST_BY_NAME}${number}` }));

  return [
    {
      name: 'check-token',
      load: () => ({ url: service, method: 'POST', requests: dealOut(tokens, CHECK_CONNECTIONS, (token) => check({ token })) }),
      baseline: {
        name: 'Nest hello',
        load: () => ({ url: baselines.hello, method: 'GET', requests: sameFor(CHECK_CONNECTIONS, { path: '/hello' }) }),
      },
      target: 0.4,
      peers: '823–1,641',
    },
    {
      name: 'check-token, refresh',
      load: async () => {
        const opened = await logins.openMany(REFRESH_CONNECTIONS);
        return {
          url: service,
          method: 'POST',
          chain: true,
          requests: opened.map((login) => chain('/auth/check-token', login.refresh_token)),
        };
      },
      baseline: {
        name: 'UPDATE + sign',
        load: async () => {
          const first = await resetSessions(client, sessions);
          return { url: baselines.plain, method: 'POST', chain: true, requests: first.map((token) => chain('/refresh', token)) };
        },
      },
      target: 0.5,
      peers: '396',
    },
    {
      name: 'login',
      load: () => ({
        url: service,
        method: 'POST',
        requests: dealOut(logins.take(100 * LOGIN_CONNECTIONS), LOGIN_CONNECTIONS, ({ name }) => ({
          path: '/auth/login',
          body: JSON.stringify({ login: name, password: PASSWORD }),
        })),
      }),
      baseline: { name: 'bare Argon2id', load: null },
      target: 0.9,
      peers: '12–14',
    },
    {
      name: 'GET /user/{user_id}',
      load: () => ({ url: service, ...reader, requests: reads }),
      baseline: { name: 'Fastify + pg', load: () => ({ url: baselines.plain, method: 'GET', requests: reads }) },
      target: 0.5,
      peers: '–',
    },
    {
      name: 'list of 50, newest',
      load: () => ({ url: service, ...reader, requests: sameFor(LIST_CONNECTIONS, { path: '/user/list' }) }),
      baseline: {
        name: 'Fastify + pg',
        load: () => ({ url: baselines.plain, method: 'GET', requests: sameFor(LIST_CONNECTIONS, { path: '/user/list' }) }),
      },
      target: 0.6,
      peers: '246–347',
    },
    {
      name: 'list of 50, carrier by name',
      load: () => ({ url: service, ...reader, requests: carriers }),
      baseline: {
        name: 'Fastify + pg',
        load: () => ({
          url: baselines.plain,
          method: 'GET',
          requests: carriers.map((own) => own.map(({ path }) => ({ path: path.replace('/list', '/by-name') }))),
        }),
      },
      target: 0.6,
      peers: '63–347',
    },
  ];
}

module.exports = { definePaths };
