// Measured paths: each with its load, its baseline under the same load, and the rates of peers.
const { defineAuthPaths } = require('./auth-paths');
const { choose } = require('./fill');
const { dealOut, Logins, sameFor } = require('./logins');

const READ_CONNECTIONS = 32;
const ONE_CONNECTIONS = 16;
const LIST_CONNECTIONS = 16;
const CREATE_CONNECTIONS = 16;
const CREATED_PER_CONNECTION = 500;
const LIST_BY_NAME = 'order_by=name&order_dir=asc&status=active&carrier_id=carrier-';

/**
 * Defines the paths. A load is a function that creates new requests for each round.
 * @returns {Promise<{ name: string, load: Function, baseline: { name: string, load: Function },
 * target: number, peers: string }[]>}
 */
async function definePaths(client, { url: service, child }, baselines) {
  const logins = new Logins(service, await choose(client, `status = 'active' and user_type = 'carrier'`, 20_000));
  const [administrator] = await choose(client, `roles @> '{administrator}'`, 1);
  const { access_token } = await logins.open(administrator);
  const reader = { headers: { authorization: `Bearer ${access_token}` }, method: 'GET' };
  const ids = (await choose(client, 'true', 200 * ONE_CONNECTIONS)).map(({ user_id }) => user_id);
  const reads = dealOut(ids, ONE_CONNECTIONS, (id) => ({ path: `/user/${id}` }));
  const carriers = dealOut([...Array(200).keys()], LIST_CONNECTIONS, (number) => ({
    path: `/user/list?${LIST_BY_NAME}${number}`,
  }));

  const creations = createUsers();

  return [
    ...(await defineAuthPaths({ client, service, baselines, logins })),
    {
      name: 'GET /user',
      load: () => ({ url: service, ...reader, requests: sameFor(READ_CONNECTIONS, { path: '/user' }) }),
      baseline: {
        name: '/health/live',
        child,
        load: () => ({ url: service, method: 'GET', requests: sameFor(READ_CONNECTIONS, { path: '/health/live' }) }),
      },
      target: 0.55,
      peers: '–',
    },
    {
      name: 'GET /user/{user_id}',
      load: () => ({ url: service, ...reader, requests: reads }),
      baseline: { name: 'Fastify + pg', load: () => ({ url: baselines.plain, method: 'GET', requests: reads }) },
      target: 0.55,
      peers: '–',
    },
    {
      name: 'list of 50, newest',
      load: () => ({ url: service, ...reader, requests: sameFor(LIST_CONNECTIONS, { path: '/user/list?count=none' }) }),
      baseline: {
        name: 'Fastify + pg',
        load: () => ({
          url: baselines.plain,
          method: 'GET',
          requests: sameFor(LIST_CONNECTIONS, { path: '/user/list' }),
        }),
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
    {
      name: 'POST /user/create',
      load: () => ({ url: service, ...reader, method: 'POST', requests: creations('/user/create') }),
      baseline: {
        name: 'Fastify + pg',
        load: () => ({ url: baselines.plain, method: 'POST', requests: creations('/create') }),
      },
      target: 0.5,
      peers: '303',
    },
  ];
}

/** Returns a function that returns requests to create new users without passwords. */
function createUsers() {
  let number = 0;
  const request = (path) => {
    const name = `created.${++number}`;
    const user = {
      user_type: 'carrier',
      name,
      email: `${name}@example.org`,
      first_name: 'Test',
      last_name: `Created ${number}`,
      carrier_id: `carrier-${number % 200}`,
      roles: ['carrier_user'],
    };
    return { path, body: JSON.stringify(user) };
  };
  return (path) =>
    Array.from({ length: CREATE_CONNECTIONS }, () =>
      Array.from({ length: CREATED_PER_CONNECTION }, () => request(path)),
    );
}

module.exports = { definePaths };
