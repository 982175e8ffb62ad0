// `npm run bench:webhooks`: measures the delay of webhooks while others hang or fail.
//   --seconds 30 (duration)
//   --rate 5 (changes per second)
const http = require('node:http');
const { choose, PASSWORD } = require('./fill');
const { grid } = require('./report');
const { optionsOf, prepare, run, tell } = require('./stage');

const WEBHOOKS = 100;
const P99_MAX_MS = 1_000;

const { seconds, rate } = optionsOf({ seconds: 30, rate: 5 });
const delays = [];
/** Good targets respond at once. A quarter of all targets never respond, and a quarter with 500. */
const target = http.createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.once('end', () => {
    if (request.url.startsWith('/hang')) return;
    if (request.url.startsWith('/fail')) return response.writeHead(500).end();
    delays.push(Date.now() - Date.parse(JSON.parse(Buffer.concat(chunks)).timestamp));
    response.writeHead(204).end();
  });
});

async function send(url, token, body) {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response.json();
}

const percentile = (values, part) => values.toSorted((a, b) => a - b)[Math.floor(values.length * part)];

async function main() {
  await new Promise((resolve) => target.listen(0, '127.0.0.1', resolve));
  const { about, database, service } = await prepare({
    users: 1_000,
    settings: { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1' },
  });
  const { client } = database;
  const [{ name: login }] = await choose(client, `roles @> '{administrator}'`, 1);
  const { access_token: token } = await send(`${service.url}/auth/login`, null, { login, password: PASSWORD });
  const kinds = ['good', 'good', 'hang', 'fail'];
  for (let number = 0; number < WEBHOOKS; number++) {
    const url = `http://127.0.0.1:${target.address().port}/${kinds[number % kinds.length]}${number}`;
    await send(`${service.url}/webhook/create`, token, { url, type_in: ['user.changed'] });
  }
  tell('changes');
  const change = () =>
    client.query(
      `insert into events (event_type, actor_type, target_type, target_id, carrier_id, changes, target_version)
       values ('user.changed', 'system', 'user', uuid_v7(), 'c1', '{}', 2)`,
    );
  for (let count = 0; count < seconds * rate; count++) {
    await change();
    await new Promise((resolve) => setTimeout(resolve, 1_000 / rate));
  }
  const expected = (seconds * rate * WEBHOOKS) / 2;
  for (let waited = 0; delays.length < expected && waited < 100; waited++)
    await new Promise((resolve) => setTimeout(resolve, 100));
  console.log(`\n${about}\n`);
  console.log(
    grid(
      ['measure', 'value', 'target'],
      [
        ['changes that good webhooks received', `${delays.length} of ${expected}`, 'all'],
        ['p50 from the change to its receipt', `${percentile(delays, 0.5)} ms`, ''],
        ['p99', `${percentile(delays, 0.99)} ms`, `≤ ${P99_MAX_MS} ms`],
      ],
      [1],
    ),
  );
  target.closeAllConnections();
  target.close();
}

run(main);
