// Sends many logins at the same time, every second, except over connections that still wait for a
// response. Started by flood.js.
const net = require('node:net');
const { clearInterval, setInterval } = require('node:timers');
const { answerParent } = require('./processes');

const EVERY_MS = 1_000;

let timer;
let waiting = new Set();
let answers = [];
let visitors = [];

/**
 * A connection that sends one request at a time. Reads only the necessary part of a response, to
 * keep its own cost out of the measurement.
 */
class Visitor {
  constructor(url) {
    const { hostname, port } = new URL(url);
    this.socket = net.connect({ host: hostname, port: Number(port), noDelay: true });
    this.done = null;
    this.read = '';
    this.socket.setEncoding('latin1');
    this.socket.on('data', (part) => this.take(part));
    for (const event of ['error', 'close']) this.socket.on(event, () => this.finish(0));
  }

  /** @returns {Promise<{ status: number, ms: number }>} status 0 without a response */
  send(message) {
    const start = performance.now();
    return new Promise((resolve) => {
      this.done = (status) => resolve({ status, ms: performance.now() - start });
      this.socket.write(message);
    });
  }

  take(part) {
    this.read += part;
    const head = this.read.indexOf('\r\n\r\n');
    if (head === -1) return;
    const [, length] = /\r\ncontent-length: (\d+)/i.exec(this.read.slice(0, head)) ?? [];
    if (length !== undefined && this.read.length >= head + 4 + Number(length))
      this.finish(Number(this.read.slice(9, 12)));
  }

  finish(status) {
    const { done } = this;
    [this.done, this.read] = [null, ''];
    done?.(status);
  }
}

function messageOf(url, { method = 'POST', body = '' }) {
  const { host, pathname } = new URL(url);
  const length = Buffer.byteLength(body);
  const head = [`${method} ${pathname} HTTP/1.1`, `host: ${host}`, 'content-type: application/json'];
  return [...head, `content-length: ${length}`, '', body].join('\r\n');
}

/**
 * Opens the connections, then starts to send. 500 new connections would cost this process more than
 * the requests that it measures.
 * @param crowd.requests the requests of each connection
 */
async function start({ url, requests }) {
  answers = [];
  waiting = new Set();
  visitors = requests.map((own) => ({
    visitor: new Visitor(url),
    messages: own.map((request) => messageOf(url, request)),
  }));
  const greeting = messageOf(new URL('/health/live', url), { method: 'GET' });
  await Promise.all(visitors.map(({ visitor }) => visitor.send(greeting)));
  let round = 0;
  const storm = () => {
    for (const { visitor, messages } of visitors) {
      if (visitor.done !== null) continue;
      const answered = visitor.send(messages[round % messages.length]).then((answer) => {
        waiting.delete(answered);
        answers.push(answer);
      });
      waiting.add(answered);
    }
    round++;
  };
  storm();
  timer = setInterval(storm, EVERY_MS);
}

/** Returns all responses once the last has arrived. */
async function stop() {
  clearInterval(timer);
  await Promise.all(waiting);
  for (const { visitor } of visitors) visitor.socket.destroy();
  return answers;
}

answerParent({ start, stop });
