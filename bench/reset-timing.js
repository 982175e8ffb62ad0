// `npm run bench:reset`: measures whether the event loop reveals if a reset request found a user.
//   --samples 400 (half of them of known addresses)
// Requests a reset for known and unknown addresses in random order, over a real socket. After each
// request, sends GET /health/live for 20 ms, one request after the other, and counts the responses.
// AUC is the probability that a known address has fewer responses: 0.5 if they reveal nothing.
const http = require('node:http');
const { randomInt } = require('node:crypto');
const { setTimeout: wait } = require('node:timers/promises');
const { choose } = require('./fill');
const { aucNote, aucOf, grid, quantile } = require('./report');
const { optionsOf, prepare, run } = require('./stage');

const AUC_MAX = 0.6;
const WINDOW_MS = 20;
const PAUSE_MS = 200;
const WARM_UP = 20;

const { samples } = optionsOf({ samples: 400 });
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

/** Resolves when the response has ended. */
function send(url, method, body) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { agent, method, headers: { 'content-type': 'application/json' } }, (response) =>
      response.resume().once('end', () => {
        if (response.statusCode >= 300) reject(new Error(`${url}: ${response.statusCode}`));
        else resolve();
      }),
    );
    request.once('error', reject).end(body);
  });
}

/** @returns the number of responses in the window after a reset request */
async function probe(service, email) {
  await send(`${service.url}/auth/reset_email`, 'POST', JSON.stringify({ email }));
  let answered = 0;
  for (const end = performance.now() + WINDOW_MS; performance.now() < end; answered++)
    await send(`${service.url}/health/live`, 'GET');
  await wait(PAUSE_MS);
  return answered;
}

async function main() {
  const { about, database, service } = await prepare({ users: 10_000 });
  const emails = (await choose(database.client, `status = 'active'`, samples)).map(({ email }) => email);
  for (let index = 0; index < WARM_UP; index++) await probe(service, `warm-up-${index}@example.net`);
  const answered = { known: [], unknown: [] };
  for (let count = 1; count <= samples; count++) {
    const open = Object.keys(answered).filter((kind) => answered[kind].length < samples / 2);
    const kind = open[randomInt(open.length)];
    answered[kind].push(await probe(service, kind === 'known' ? emails.pop() : `unknown-${count}@example.net`));
  }
  const auc = aucOf(answered.unknown, answered.known);
  const lines = Object.entries(answered).map(([kind, counts]) => [
    kind,
    ...[0.05, 0.5].map((share) => String(quantile(counts, share))),
  ]);
  console.log(`\n${about}\n\n${grid(['address', 'p5', 'p50'], lines, [0])}`);
  console.log(`AUC ${auc.toFixed(3)}, at most ${AUC_MAX}: ${auc <= AUC_MAX && auc >= 1 - AUC_MAX ? 'yes' : 'NO'}`);
  console.log(aucNote(samples / 2));
}

run(main);
