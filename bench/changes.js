// `npm run bench:changes`: measures the change feed.
//   --changes 1000000 (changes of which all are read, in pages of 1,000)
//   --waiting 1000 (callers that wait for a change, with five API keys)
// Then measures the time from a commit to the response of each waiting caller.
const http = require('node:http');
const { setTimeout: wait } = require('node:timers/promises');
const { choose, PASSWORD } = require('./fill');
const { grid, quantile } = require('./report');
const { optionsOf, prepare, run, tell } = require('./stage');

const RATE_MIN = 20_000;
const P99_MAX_MS = 50;
const ROUNDS = 20;
const KEYS = 5;

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

/** Returns the milliseconds from the commit of a change to each response. */
async function deliver(service, client, keys, cursor) {
  const ask = (index) =>
    send(`${service.url}/change/list?after=${cursor}&wait=30`, 'GET', keys[index % KEYS]).then((page) => {
      if (page.items.length !== 1) throw new Error(`${page.items.length} changes`);
      return { at: performance.now(), cursor: page.next_cursor };
    });
  // The first request starts the reader of the instance. The others need no query.
  const responses = [ask(0)];
  await wait(200);
  for (let index = 1; index < waiting; index++) responses.push(ask(index));
  await wait(1_000);
  await client.query(
    `with event as (
       insert into events (event_type, actor_type, target_type, target_id)
       values ('user.changed', 'system', 'user', uuid_v7())
     )
     select pg_notify('changes_added', '')`,
  );
  const committedAt = performance.now();
  const received = await Promise.all(responses);
  return { times: received.map(({ at }) => at - committedAt), cursor: received[0].cursor };
}

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
  const times = [];
  let cursor = end;
  for (let round = 0; round < ROUNDS; round++) {
    const delivered = await deliver(service, client, keys, cursor);
    if (round > 0) times.push(...delivered.times);
    cursor = delivered.cursor;
  }
  const p99 = quantile(times, 0.99);
  console.log(`\n${about}\n`);
  console.log(
    grid(
      ['measure', 'value', 'target'],
      [
        ['changes/s in pages of 1,000', Math.round(rate).toLocaleString('en'), `≥ ${RATE_MIN.toLocaleString('en')}`],
        [`ms to ${waiting} waiting callers, p50`, quantile(times, 0.5).toFixed(1), ''],
        [`ms to ${waiting} waiting callers, p99`, p99.toFixed(1), `≤ ${P99_MAX_MS}`],
      ],
      [0],
    ),
  );
}

run(main);
