// A load generator that sends several streams of requests at fixed rates, evenly spaced. Latency
// counts from the time at which a request was due.
const http = require('node:http');
const { clearInterval, setInterval } = require('node:timers');
const { answerParent } = require('./processes');

const TICK_MS = 5;
/** Longer than all time limits of the service. */
const PATIENCE_MS = 90_000;
const agent = new http.Agent({ keepAlive: true, maxSockets: 256 });

/** @param request.from address of the client, such as 127.0.1.1 */
function send(url, { method, path, headers = {}, body = '', from }) {
  return new Promise((resolve) => {
    const length = Buffer.byteLength(body);
    const type = length > 0 ? { 'content-type': 'application/json', 'content-length': length } : {};
    const options = { agent, method, headers: { ...type, ...headers }, localAddress: from, timeout: PATIENCE_MS };
    const request = http.request(url + path, options, (response) => {
      const parts = [];
      response.on('data', (part) => parts.push(part));
      response.on('end', () => resolve({ status: response.statusCode, text: Buffer.concat(parts).toString() }));
      response.on('error', () => resolve({ status: 0, text: '' }));
    });
    request.on('error', () => resolve({ status: 0, text: '' }));
    request.on('timeout', () => request.destroy());
    request.end(body);
  });
}

/** Sends the requests of a stream in turn. A chain carries the refresh tokens of its responses. */
class Stream {
  constructor(url, { requests, chain = false, rate }) {
    Object.assign(this, { url, requests, chain, rate, sent: 0, times: {}, running: new Set() });
  }

  /** Sends the requests that are due. */
  tick(beganAt, now) {
    for (; this.sent < ((now - beganAt) / 1_000) * this.rate; this.sent++) {
      const request = this.chain ? this.requests.shift() : this.requests[this.sent % this.requests.length];
      // All tokens of the chain are on their way.
      if (request === undefined) continue;
      const done = this.follow(request, beganAt + (this.sent / this.rate) * 1_000);
      this.running.add(done);
      void done.then(() => this.running.delete(done));
    }
  }

  async follow(request, dueAt) {
    const { status, text } = await send(this.url, request);
    (this.times[status] ??= []).push(performance.now() - dueAt);
    const [, refresh_token] = this.chain ? (/"refresh_token":"([^"]+)"/.exec(text) ?? []) : [];
    if (refresh_token !== undefined) this.requests.push({ ...request, body: JSON.stringify({ refresh_token }) });
  }

  result() {
    const statuses = Object.fromEntries(Object.entries(this.times).map(([status, times]) => [status, times.length]));
    const latencies = Object.values(this.times).flat();
    const succeeded = Object.entries(this.times).filter(([status]) => status.startsWith('2'));
    return {
      requests: latencies.length,
      failed: latencies.length - succeeded.flatMap(([, times]) => times).length,
      statuses,
      latencies,
      requestsLeft: this.chain ? this.requests : [],
    };
  }
}

/** Sends all streams for some seconds, and returns the result of each. */
async function run({ url, streams, seconds }) {
  const all = streams.map((one) => new Stream(url, one));
  const beganAt = performance.now();
  const tick = () => all.forEach((one) => one.tick(beganAt, performance.now()));
  const timer = setInterval(tick, TICK_MS);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  clearInterval(timer);
  await Promise.all(all.flatMap(({ running }) => [...running]));
  return all.map((one) => one.result());
}

answerParent({ run });
