// `npm run bench:requests`: sends requests of the largest size allowed to every route of
// openapi.json, and prints the time that the event loop of the service works on them, worst first.
//   --top 0 (lines to print; 0: all routes)
//   --only /user/list,/auth (parts of paths)
//   --repeat 3 (the median is printed)
// `busy`: CPU time of the event loop for a request, including 1 to 2 ms for the measurement.
// `longest`: CPU time of the longest turn of the loop. Goals: at most 5 ms for a request before the
// guard, and at most 50 ms for a turn after the guard.
const http = require('node:http');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { choose, PASSWORD } = require('./fill');
const { startInstance } = require('./instances');
const { freePort } = require('./processes');
const { count, grid, median } = require('./report');
const { prepare, run, tell } = require('./stage');
const document = require('../openapi.json');
const { shapesFor, UUID } = require('./largest-shapes');

const { values: options } = parseArgs({
  options: {
    top: { type: 'string', default: '0' },
    only: { type: 'string', default: '' },
    repeat: { type: 'string', default: '3' },
  },
});

const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

function send(url, { method = 'GET', headers: own = {}, body }) {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const request = http.request(
      url,
      { agent, method, headers: { ...own, ...length }, maxHeaderSize: 1e6 },
      (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.once('end', () => resolve({ status: response.statusCode, body: Buffer.concat(chunks) }));
      },
    );
    // A refused upload ends the connection. The 431 to a HEAD request has a body.
    const expected = ['ECONNRESET', 'HPE_CLOSED_CONNECTION'];
    const fail = (error) => (expected.includes(error.code) ? resolve({ status: 0, body: '' }) : reject(error));
    request.once('error', fail);
    request.end(body);
  });
}

async function logIn(url, login) {
  const { body } = await send(`${url}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ login, password: PASSWORD }),
  });
  return JSON.parse(body).access_token;
}

async function measureOnce(service, take, request) {
  await take();
  const { status, body } = await send(service.url + request.path, request);
  return { ...(await take()), status, bytes: body.length };
}

/** Measures a request. Repeats it if it seems to be worse than the worst so far. */
async function measure(service, take, request, figure, worst) {
  const results = [await measureOnce(service, take, request)];
  while (results[0][figure] > worst && results.length < Number(options.repeat))
    results.push(await measureOnce(service, take, request));
  const bytes = Math.max(...results.map((one) => one.bytes));
  return { [figure]: median(results.map((one) => one[figure])), status: results[0].status, bytes };
}

/** Sends all shapes to a route. Returns the worst result without a token and with a token. */
async function measureRoute(service, take, { method, route, operation, user_id }, token) {
  const path = route.replace('{user_id}', user_id).replace(/\{\w+\}/g, UUID);
  const worst = { anonymous: { busy: 0 }, administrator: { longest: 0 }, bytes: 0 };
  for (const [shape, { query, headers: own = {}, body }] of shapesFor(operation)) {
    const request = { method, path: query === undefined ? path : `${path}?${query}`, body };
    const found = await measure(service, take, { ...request, headers: own }, 'busy', worst.anonymous.busy);
    worst.bytes = Math.max(worst.bytes, found.bytes);
    if (found.busy > worst.anonymous.busy) worst.anonymous = { ...found, shape };
    if (operation['x-permission'] === 'none' || 'authorization' in own || 'x-auth-token' in own) continue;
    const withToken = { ...request, headers: { ...own, authorization: `Bearer ${token}` } };
    const known = await measure(service, take, withToken, 'longest', worst.administrator.longest);
    worst.bytes = Math.max(worst.bytes, known.bytes);
    if (known.longest > worst.administrator.longest) worst.administrator = { ...known, shape };
  }
  return { name: `${method} ${route}`, ...worst };
}

async function main() {
  const stage = await prepare({ users: 1_000 });
  const MONITOR_PORT = String(await freePort());
  const settings = { MONITOR_PORT, NODE_OPTIONS: `--require ${path.join(__dirname, 'loop-monitor.js')}` };
  const environment = {
    ...stage.environment,
    ...settings,
    TRUST_PROXY: '127.0.0.0/8',
    CORS_ORIGINS: 'http://a.example',
  };
  const service = await startInstance(environment, { measured: true, pinned: stage.pinned });
  const take = async () => JSON.parse((await send(`http://127.0.0.1:${MONITOR_PORT}`, {})).body);
  const [administrator] = await choose(stage.database.client, `'administrator' = any(roles)`, 1);
  const [{ user_id }] = await choose(stage.database.client, `status = 'active' and user_type = 'carrier'`, 1);
  const routes = Object.entries(document.paths).flatMap(([route, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), route, operation, user_id })),
  );
  const extra = ['/docs', '/docs/errors/request.invalid', '/console/', '/console/users/x', '/nothing/here'];
  for (const route of extra) routes.push({ method: 'GET', route, operation: { 'x-permission': 'none' } });
  const results = [];
  for (const one of routes) {
    if (!options.only.split(',').some((part) => one.route.includes(part))) continue;
    const token = await logIn(service.url, administrator.name);
    results.push(await measureRoute(service, take, one, token));
    tell(`${one.method} ${one.route}`);
  }
  const badness = ({ anonymous, administrator: known }) => Math.max(anonymous.busy / 5, known.longest / 50);
  results.sort((one, other) => badness(other) - badness(one));
  const head = ['route', 'busy ms', 'without a token', 'longest ms', 'as an administrator', 'largest response'];
  const figure = (value) => (value === undefined ? '–' : value.toFixed(1));
  const lines = results.map(({ name, anonymous, administrator: known, bytes }) => [
    name,
    figure(anonymous.busy),
    `${anonymous.status} ${anonymous.shape}`,
    known.shape === undefined ? '–' : figure(known.longest),
    known.shape === undefined ? '' : `${known.status} ${known.shape}`,
    `${count(bytes / 1024)} KiB`,
  ]);
  const shown = Number(options.top) === 0 ? lines : lines.slice(0, Number(options.top));
  console.log(`\n${stage.about}\n\n${grid(head, shown, [0, 2, 4])}`);
}

run(main);
