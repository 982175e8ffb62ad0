// `npm run bench:requests`: sends requests of the largest size allowed to every route of
// openapi.json, and prints the CPU time of the event loop of the service for them, worst first.
//   --only /user/list,/auth (parts of paths)
//   --repeat 3 (the median is printed)
// Goals: at most 5 ms for a request without a token, and at most 50 ms for an administrator's.
const fs = require('node:fs');
const http = require('node:http');
const { setTimeout: delay } = require('node:timers/promises');
const { Logins } = require('./callers');
const { choose } = require('./fill');
const { count, grid, median } = require('./report');
const { chosen, optionsOf, prepare, run, tell } = require('./stage');
const document = require('../openapi.json');
const { shapesFor, UUID } = require('./largest-shapes');

const OTHERS = ['/docs', '/docs/errors/request.invalid', '/console/', '/console/users/x', '/nothing/here'];
const ANONYMOUS_MAX_MS = 5;
const KNOWN_MAX_MS = 50;

const { only, repeat } = optionsOf({ only: '', repeat: 3 });
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

function send(url, { method = 'GET', headers = {}, body = '' }) {
  return new Promise((resolve, reject) => {
    const length = body === '' ? {} : { 'content-length': Buffer.byteLength(body) };
    const options = { agent, method, headers: { ...headers, ...length }, maxHeaderSize: 1e6 };
    const request = http.request(url, options, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.once('end', () => resolve({ status: response.statusCode, body: Buffer.concat(chunks) }));
    });
    // A refused upload ends the connection. The 431 to a HEAD request has a body.
    const expected = ['ECONNRESET', 'HPE_CLOSED_CONNECTION'];
    const fail = (error) => (expected.includes(error.code) ? resolve({ status: 0, body: '' }) : reject(error));
    request.once('error', fail);
    request.end(body);
  });
}

/** CPU time of the main thread of a process in milliseconds. Linux only. */
function cpuMs({ pid }) {
  return Number(fs.readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
}

/** Measures a request. Repeats it if it seems to be worse than the worst so far. */
async function measure({ url, child }, request, worst) {
  const results = [];
  do {
    const before = cpuMs(child);
    const { status, body } = await send(url + request.path, request);
    // The work of the request is complete at the next turn of the loop.
    await delay(4);
    results.push({ ms: cpuMs(child) - before, status, bytes: body.length });
  } while (results[0].ms > worst.ms && results.length < repeat);
  return { ...results[0], ms: median(results.map(({ ms }) => ms)) };
}

/** Sends all shapes to a route. Returns the worst result without a token and with a token. */
async function measureRoute(service, { name, method, route, operation, user_id }, token) {
  const to = route.replace('{user_id}', user_id).replace(/\{\w+\}/g, UUID);
  const worst = { name, anonymous: { ms: 0 }, known: { ms: 0 }, bytes: 0 };
  const add = async (who, shape, request) => {
    const found = await measure(service, request, worst[who]);
    worst.bytes = Math.max(worst.bytes, found.bytes);
    if (found.ms > worst[who].ms) worst[who] = { ...found, shape };
  };
  for (const [shape, { query, headers = {}, body }] of shapesFor(operation)) {
    const request = { method, path: query === undefined ? to : `${to}?${query}`, headers, body };
    await add('anonymous', shape, request);
    if (operation['x-permission'] === 'none' || 'authorization' in headers || 'x-auth-token' in headers) continue;
    await add('known', shape, { ...request, headers: { ...headers, authorization: `Bearer ${token}` } });
  }
  return worst;
}

async function main() {
  const settings = { TRUST_PROXY: '127.0.0.0/8', CORS_ORIGINS: 'http://a.example' };
  const { about, database, service } = await prepare({ users: 1_000, settings });
  const { client } = database;
  const [administrator] = await choose(client, `'administrator' = any(roles)`, 1);
  const [{ user_id }] = await choose(client, `status = 'active' and user_type = 'carrier'`, 1);
  const logins = new Logins(service.url, []);
  const routes = Object.entries(document.paths).flatMap(([route, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), route, operation, user_id })),
  );
  for (const route of OTHERS) routes.push({ method: 'GET', route, operation: { 'x-permission': 'none' } });
  const named = routes.map((one) => ({ ...one, name: `${one.method} ${one.route}` }));
  const results = [];
  for (const one of chosen(named, only)) {
    results.push(await measureRoute(service, one, (await logins.open(administrator)).access_token));
    tell(one.name);
  }
  const badness = ({ anonymous, known }) => Math.max(anonymous.ms / ANONYMOUS_MAX_MS, known.ms / KNOWN_MAX_MS);
  results.sort((one, other) => badness(other) - badness(one));
  const cells = ({ ms, status, shape }) => (shape === undefined ? ['–', ''] : [ms.toFixed(1), `${status} ${shape}`]);
  const lines = results.map(({ name, anonymous, known, bytes }) => [
    name,
    ...cells(anonymous),
    ...cells(known),
    `${count(bytes / 1024)} KiB`,
  ]);
  const head = ['route', 'ms', 'without a token', 'ms', 'as an administrator', 'largest response'];
  console.log(`\n${about}\n\n${grid(head, lines, [0, 2, 4])}`);
}

run(main);
