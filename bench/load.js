// The load generator: autocannon in a separate process, on the core of the database. Started by
// stage.js.
const autocannon = require('autocannon');
const { answerParent } = require('./processes');

const JSON_HEADERS = { 'content-type': 'application/json' };

/**
 * Keeps `requests.length` connections busy. Each connection sends its requests in turn, one at a
 * time.
 * @param job.chain each request carries the refresh token of the previous response
 * @param job.amount number of requests, instead of a duration
 */
async function run({ url, seconds, amount, method, headers = {}, requests, chain = false }) {
  const latencies = [];
  let next = 0;
  const setupClient = (client) => {
    const own = requests[next++].map((request) => ({
      method,
      ...request,
      headers: { ...JSON_HEADERS, ...headers, ...request.headers },
    }));
    client.setRequests(chain ? [linked(own[0])] : own);
  };
  const howLong = amount === undefined ? { duration: seconds } : { amount };
  const options = { url, connections: requests.length, ...howLong, sampleInt: 100, setupClient, headers: {} };
  const running = autocannon(options);
  running.on('response', (_client, _status, _bytes, ms) => latencies.push(ms));
  const result = await running;
  const failed = result.non2xx + result.errors + result.timeouts;
  return {
    requests: result.requests.total,
    seconds: result.duration,
    latencies,
    failed,
    statuses: result.statusCodeStats,
  };
}

/** Returns a request that takes its refresh token from the previous response. */
function linked(first) {
  let { body } = first;
  return {
    ...first,
    setupRequest: (request) => ({ ...request, body }),
    onResponse: (_status, answer) => {
      const [, refresh_token] = /"refresh_token":"([^"]+)"/.exec(answer) ?? [];
      if (refresh_token !== undefined) body = JSON.stringify({ refresh_token });
    },
  };
}

answerParent({ run });
