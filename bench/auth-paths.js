// Paths for check-token, refresh and login, used by `npm run bench` and `npm run bench:auth`.
const { addSessions, PASSWORD, resetSessions } = require('./fill');
const { dealOut, sameFor } = require('./logins');

const CHECK_CONNECTIONS = 64;
const FEW_CONNECTIONS = 16;
const REFRESH_CONNECTIONS = 32;
const LOGIN_CONNECTIONS = 16;

/** Returns a load of check-token requests with tokens in the body, split among the connections. */
function checkTokens(url, tokens, connections = CHECK_CONNECTIONS) {
  const check = (token) => ({ path: '/auth/check-token', body: JSON.stringify({ token }) });
  return { url, method: 'POST', requests: dealOut(tokens, connections, check) };
}

/** Returns the baseline of an empty Nest application with the same number of connections. */
function helloOf(baselines, connections = CHECK_CONNECTIONS) {
  return {
    name: 'Nest hello',
    load: () => ({ url: baselines.hello, method: 'GET', requests: sameFor(connections, { path: '/hello' }) }),
  };
}

function loginRequest({ name }) {
  return { path: '/auth/login', body: JSON.stringify({ login: name, password: PASSWORD }) };
}

/**
 * Defines the paths. A load is a function that creates new requests for each round.
 * @returns {Promise<{ name: string, load: Function, baseline: { name: string, load: Function },
 * target: number, p99Max?: number, peers: string }[]>}
 */
async function defineAuthPaths({ client, service, baselines, logins }) {
  const tokens = (await logins.openMany(2 * CHECK_CONNECTIONS)).map(({ access_token }) => access_token);
  const sessions = await addSessions(client, REFRESH_CONNECTIONS);
  const chain = (path, refresh_token) => [{ path, body: JSON.stringify({ refresh_token }) }];
  const chains = (url, path, first) => ({
    url,
    method: 'POST',
    chain: true,
    requests: first.map((token) => chain(path, token)),
  });
  const refreshes = async () => {
    const opened = await logins.openMany(REFRESH_CONNECTIONS);
    return opened.map(({ refresh_token }) => refresh_token);
  };
  const takeLogins = () => dealOut(logins.take(100 * LOGIN_CONNECTIONS), LOGIN_CONNECTIONS, loginRequest);
  return [
    {
      name: 'check-token',
      load: () => checkTokens(service, tokens),
      baseline: helloOf(baselines),
      target: 0.5,
      p99Max: 10,
      peers: '823–1,641',
    },
    {
      name: `check-token, ${FEW_CONNECTIONS} connections`,
      load: () => checkTokens(service, tokens, FEW_CONNECTIONS),
      baseline: helloOf(baselines, FEW_CONNECTIONS),
      target: 0.5,
      p99Max: 10,
      peers: '–',
    },
    {
      name: 'check-token, refresh',
      load: async () => chains(service, '/auth/check-token', await refreshes()),
      baseline: {
        name: 'UPDATE + sign',
        load: async () => chains(baselines.plain, '/refresh', await resetSessions(client, sessions)),
      },
      target: 0.5,
      peers: '396',
    },
    {
      name: 'login',
      load: () => ({ url: service, method: 'POST', requests: takeLogins() }),
      baseline: { name: 'bare Argon2id', load: null },
      target: 0.9,
      peers: '12–14',
    },
  ];
}

module.exports = { CHECK_CONNECTIONS, checkTokens, defineAuthPaths, helloOf, loginRequest };
