// `npm run bench:changes`: measures the change feed.
//   --changes 1000000 (changes of which all are read, in pages of 1,000)
const http = require('node:http');
const { choose, PASSWORD } = require('./fill');
const { grid } = require('./report');
const { optionsOf, prepare, run, tell } = require('./stage');

const RATE_MIN = 20_000;

const { changes } = optionsOf({ changes: 1_000_000 });
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

async function main() {
  const { about, database, service } = await prepare({ users: 1_000 });
  const { client } = database;
  const { access_token: token } = await send(`${service.url}/auth/login`, 'POST', null, {
    login: (await choose(client, `roles @> '{administrator}'`, 1))[0].name,
    password: PASSWORD,
  });
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
  const { count } = await readAll(service, token, start);
  const rate = count / ((performance.now() - beganAt) / 1_000);
  if (count !== changes) throw new Error(`${count} changes`);
  console.log(`\n${about}\n`);
  console.log(
    grid(
      ['measure', 'value', 'target'],
      [['changes/s in pages of 1,000', Math.round(rate).toLocaleString('en'), `≥ ${RATE_MIN.toLocaleString('en')}`]],
      [0],
    ),
  );
}

run(main);
