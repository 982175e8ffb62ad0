// `npm run bench:changes`: measures the change feed.
//   --changes 1000000 (changes of which all are read, in pages of 1,000)
//   --waiting 1000 (callers that wait for a change, with five API keys)
// Then measures the time from a commit to the response of each waiting caller, and the CPU time of
// an instance while they wait.
const http = require('node:http');
const net = require('node:net');
const { setTimeout: wait } = require('node:timers/promises');
const { choose, PASSWORD } = require('./fill');
const { grid, quantile } = require('./report');
const { cpuSeconds } = require('./processes');
const { optionsOf, prepare, run, tell } = require('./stage');

const RATE_MIN = 20_000;
const P99_MAX_MS = 50;
const WARM_UP_ROUNDS = 10;
const ROUNDS = 30;
const KEYS = 5;
const IDLE_MS = 1_000;

const { changes, waiting } = optionsOf({ changes: 1_000_000, waiting: 1_000 });
const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });

/** Sends a request and returns the body of the response. */
function send(url, method, token, body) {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
  return new Promise((resolve, reject) => {
    const request = http.request(url, { agent, method, headers }, (response) => {
      const chunks = [];
      response
        .on('data', (chunk) => chunks.push(chunk))
        .once('end', () => {
          const text = Buffer.concat(chunks).toString();
          if (response.statusCode >= 300) reject(new Error(`${url}: ${response.statusCode} ${text}`));
          else resolve(JSON.parse(text));
        });
    });
    request.once('error', reject).end(body && JSON.stringify(body));
  });
}

/** Reads the feed to its end, and returns the number of changes and the last cursor. */
async function readAll(service, token, cursor = '') {
  let count = 0;
  for (;;) {
    const page = await send(`${service.url}/change/list?per_page=1000${cursor && `&after=${cursor}`}`, 'GET', token);
    count += page.items.length;
    cursor = page.next_cursor;
    if (page.items.length === 0) return { count, cursor };
  }
}

/**
 * Opens a connection for a caller who waits. `ask` sends a request, and returns the time at which
 * the response arrived, and its body. Reads it later: parsing 1,000 responses takes 40 ms.
 */
function openCaller(url, key) {
  const { hostname, port } = new URL(url);
  const socket = net.connect({ host: hostname, port, noDelay: true });
  return {
    close: () => socket.destroy(),
    ask: (cursor) =>
      new Promise((resolve, reject) => {
        socket
          .removeAllListeners()
          .once('error', reject)
          .once('close', () => reject(new Error('closed')));
        socket.once('data', (chunk) => resolve({ at: performance.now(), body: () => JSON.parse(bodyOf(chunk)) }));
        const head = [`GET /change/list?after=${cursor}&wait=30 HTTP/1.1`, `host: ${hostname}`];
        socket.write([...head, `authorization: Bearer ${key}`, '', ''].join('\r\n'));
      }),
  };
}

function bodyOf(response) {
  const [head, body] = response.toString().split('\r\n\r\n');
  if (!head.startsWith('HTTP/1.1 200')) throw new Error(response.toString());
  return body;
}

/** Returns the milliseconds from the commit of a change to each response. */
async function deliver(service, client, callers, cursor, { idle, busy }) {
  const responses = callers.map((caller) => caller.ask(cursor));
  await wait(500);
  const before = cpuSeconds(service.child);
  await wait(IDLE_MS);
  const after = cpuSeconds(service.child);
  idle.push(((after - before) / IDLE_MS) * 100_000);
  await client.query(
    `insert into events (event_type, actor_type, target_type, target_id)
     values ('user.changed', 'system', 'user', uuid_v7())`,
  );
  const committedAt = performance.now();
  const received = await Promise.all(responses);
  busy.push((cpuSeconds(service.child) - after) * 1_000);
  const pages = received.map(({ body }) => body());
  if (pages.some(({ items }) => items.length !== 1)) throw new Error('not one change each');
  return { times: received.map(({ at }) => at - committedAt), cursor: pages[0].next_cursor };
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

async function main() {
  const { about, database, service } = await prepare({ users: 1_000 });
  const { client } = database;
  const { access_token: token } = await send(`${service.url}/auth/login`, 'POST', null, {
    login: (await choose(client, `roles @> '{administrator}'`, 1))[0].name,
    password: PASSWORD,
  });
  const keys = [];
  for (let index = 0; index < KEYS; index++) {
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    const body = { name: `feed ${index}`, permissions: ['change:read'], expires_at };
    keys.push((await send(`${service.url}/auth/key/create`, 'POST', token, body)).key);
  }
  tell('changes');
  const { cursor: start } = await readAll(service, token);
  await client.query(
    `insert into events (event_type, actor_type, target_type, target_id, carrier_id, changes, target_version)
     select
       'user.changed', 'system', 'user', uuid_v7(), 'c' || i % 100, '{"locale": {"before": null, "after": "de"}}', 2
     from generate_series(1, $1::integer) i`,
    [changes],
  );
  await client.query('analyze events');
  const beganAt = performance.now();
  const { count, cursor: end } = await readAll(service, token, start);
  const rate = count / ((performance.now() - beganAt) / 1_000);
  if (count !== changes) throw new Error(`${count} changes`);
  tell('waiting callers');
  const callers = Array.from({ length: waiting }, (_, index) => openCaller(service.url, keys[index % KEYS]));
  const times = [];
  const idle = [];
  const busy = [];
  let cursor = end;
  for (let round = 0; round < ROUNDS; round++) {
    const delivered = await deliver(service, client, callers, cursor, { idle, busy });
    if (round >= WARM_UP_ROUNDS) times.push(...delivered.times);
    cursor = delivered.cursor;
  }
  for (const caller of callers) caller.close();
  const p99 = quantile(times, 0.99);
  console.log(`\n${about}\n`);
  console.log(
    grid(
      ['measure', 'value', 'target'],
      [
        ['changes/s in pages of 1,000', Math.round(rate).toLocaleString('en'), `≥ ${RATE_MIN.toLocaleString('en')}`],
        [`ms to ${waiting} waiting callers, p50`, quantile(times, 0.5).toFixed(1), ''],
        [`ms to ${waiting} waiting callers, p99`, p99.toFixed(1), `≤ ${P99_MAX_MS}`],
        [`ms of CPU time per change to ${waiting} callers`, mean(busy.slice(WARM_UP_ROUNDS)).toFixed(0), ''],
        [`% of a core while ${waiting} callers wait`, quantile(idle, 0.5).toFixed(1), ''],
      ],
      [0],
    ),
  );
}

run(main);
