// Those who go on working while many users are being changed: few connections, a fixed timetable.
// Started by users.js.
const http = require('node:http');
const { answerParent } = require('./processes');

const EVERY_MS = 100;

let stopped = true;
let working = [];

/**
 * One connection sends its requests in turn. Times count from when a request was due, so that one
 * that hangs shows in those behind it.
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
    // it is looked at in `stop`
    done.catch(() => undefined);
    return { name, latencies, done };
  });
}

/** The times of each connection. */
async function stop() {
  stopped = true;
  await Promise.all(working.map(({ done }) => done));
  return working.map(({ name, latencies }) => ({ name, latencies }));
}

answerParent({ start, stop });
