// Sends requests at a fixed rate over a few connections while many users are being changed.
// Started by bulk.js.
const http = require('node:http');
const { answerParent } = require('./processes');

const EVERY_MS = 100;

let stopped = true;
let working = [];

/**
 * Sends the requests of one connection in turn. Measures each latency from the time when the
 * request was due, so that a hanging request also delays the requests behind it.
 */
async function work(requests, offset, latencies) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const start = performance.now() + offset;
  for (let turn = 0; !stopped; turn++) {
    const due = start + turn * EVERY_MS;
    const wait = due - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    await send(agent, requests[turn % requests.length]);
    latencies.push(performance.now() - due);
  }
  agent.destroy();
}

function send(agent, { url, method, headers, body }) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { agent, method, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${method} ${url}: ${response.statusCode}`));
      response.resume().once('end', resolve).once('error', reject);
    });
    request.once('error', reject).end(body);
  });
}

/** @param connections the requests of each connection, as `{ name, requests }` */
function start(connections) {
  stopped = false;
  working = connections.map(({ name, requests }, index) => {
    const latencies = [];
    const done = work(requests, (index * EVERY_MS) / connections.length, latencies);
    // `stop` handles the error.
    done.catch(() => undefined);
    return { name, latencies, done };
  });
}

/** Returns the latencies of each connection. */
async function stop() {
  stopped = true;
  await Promise.all(working.map(({ done }) => done));
  return working.map(({ name, latencies }) => ({ name, latencies }));
}

answerParent({ start, stop });
