// Additional check-token paths of `bench:auth`: tokens in the header, many tokens, and new tokens.
const { CHECK_CONNECTIONS, checkTokens, helloOf } = require('./auth-paths');
const { dealOut } = require('./logins');
const { ask } = require('./processes');

/** Numbers of tokens, multiples of the connections. */
const MANY = 312 * CHECK_CONNECTIONS;
const ONCE = 156 * CHECK_CONNECTIONS;
const SHARE_OF_HELLO = 0.4;

/** Returns requests with a token in the header. */
function withHeader(url, tokens, request) {
  const requests = dealOut(tokens, CHECK_CONNECTIONS, (token) => ({
    ...request,
    headers: { authorization: `Bearer ${token}` },
  }));
  return { url, method: request.method, requests };
}

/** @returns paths like those of auth-paths.js; paths without a target are for comparison */
async function defineTokenPaths({ service: { url }, baselines }, made) {
  const tokens = await tokensOf(made, 2 * CHECK_CONNECTIONS);
  const hello = () => helloOf(baselines);
  const inBody = () => checkTokens(url, tokens);
  const bare = () => {
    const { requests } = inBody();
    const greet = ({ body }) => ({ path: '/hello', body });
    return { url: baselines.hello, method: 'POST', requests: requests.map((own) => own.map(greet)) };
  };
  return [
    {
      name: 'check-token, header',
      load: () => withHeader(url, tokens, { method: 'POST', path: '/auth/check-token', body: '{}' }),
      baseline: hello(),
      target: SHARE_OF_HELLO,
    },
    { name: 'check-token', load: inBody, baseline: { name: 'Nest POST hello', load: bare } },
    { name: 'GET /user', load: () => withHeader(url, tokens, { method: 'GET', path: '/user' }), baseline: hello() },
  ];
}

/**
 * Defines paths that use many tokens in turn, and new tokens once each. `among` describes the
 * number of stored sessions.
 */
function defineLargePaths({ service: { url }, baselines, generator }, made, among) {
  let many;
  const manyInTurn = async () => {
    if (many !== undefined) return checkTokens(url, many);
    many = await tokensOf(made, MANY);
    // Send each token once before the measurement.
    await ask(generator, 'run', { ...checkTokens(url, many), once: true });
    return checkTokens(url, many);
  };
  return [
    {
      name: `check-token, ${MANY.toLocaleString('en')} tokens in turn${among}`,
      load: manyInTurn,
      baseline: helloOf(baselines),
    },
    {
      name: `check-token, each token once${among}`,
      load: async () => ({ ...checkTokens(url, await tokensOf(made, ONCE)), once: true }),
      baseline: helloOf(baselines),
    },
  ];
}

async function tokensOf(made, count) {
  return (await made.open(count)).map(({ access_token }) => access_token);
}

module.exports = { defineLargePaths, defineTokenPaths };
