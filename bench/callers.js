// Callers of the service: users who log in, sessions, bulk work, and traffic in the background.
const { setTimeout: delay } = require('node:timers/promises');
const { PASSWORD } = require('./fill');
const { ask } = require('./processes');

const JSON_HEADERS = { 'content-type': 'application/json' };
const AT_ONCE = 8;
const ASK_EVERY_MS = 100;

/** Returns the same request for all connections. */
function sameFor(connections, request) {
  return Array.from({ length: connections }, () => [request]);
}

/** Distributes requests among the connections. */
function dealOut(items, connections, toRequest) {
  return Array.from({ length: connections }, (_, own) =>
    items.filter((_item, index) => index % connections === own).map(toRequest),
  );
}

function loginRequest({ name }) {
  return { method: 'POST', path: '/auth/login', body: JSON.stringify({ login: name, password: PASSWORD }) };
}

function checkRequest(token) {
  return { method: 'POST', path: '/auth/check-token', body: JSON.stringify({ token }) };
}

function verifyRequest(token) {
  return { path: '/auth/verify', headers: { authorization: `Bearer ${token}` } };
}

/** Logs users in, one after the other. */
class Logins {
  constructor(service, users) {
    this.service = service;
    this.users = users;
    this.next = 0;
  }

  take(count) {
    return Array.from({ length: count }, () => this.users[this.next++ % this.users.length]);
  }

  async open({ name }) {
    const { method, path: to, body } = loginRequest({ name });
    const response = await fetch(this.service + to, { method, headers: JSON_HEADERS, body });
    if (response.status !== 200) throw new Error(`login of ${name}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  /** Logs users in, in small groups: the service rejects logins that would wait too long. */
  async openMany(count) {
    const opened = [];
    while (opened.length < count) {
      const group = this.take(Math.min(AT_ONCE, count - opened.length));
      opened.push(...(await Promise.all(group.map((user) => this.open(user)))));
    }
    return opened;
  }
}

/** Sends requests of a caller, and waits for the operations that they start. */
class Operations {
  constructor(service, access_token) {
    this.service = service;
    this.headers = { authorization: `Bearer ${access_token}` };
  }

  async request(method, path, { body, type = 'application/json' } = {}) {
    const headers = body === undefined ? this.headers : { ...this.headers, 'content-type': type };
    const response = await fetch(`${this.service}${path}`, { method, headers, body, duplex: 'half' });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  }

  /**
   * Sends a request and waits for the end of its operation. Throws if the operation is incomplete.
   */
  async carryOut(method, path, sent) {
    const start = performance.now();
    let operation = await this.request(method, path, sent);
    while (operation.finished_at === null) {
      await delay(ASK_EVERY_MS);
      operation = await this.request('GET', `/user/operation/${operation.operation_id}`);
    }
    const ms = performance.now() - start;
    if ((operation.status ?? 'done') !== 'done' || operation.changed < operation.matched * 0.8)
      throw new Error(`${method} ${path}: ${JSON.stringify(operation)}`);
    return { operation, ms };
  }
}

/**
 * Sends streams in rounds until the returned function is called, which returns the sum of all
 * rounds for each stream.
 * @param streams returns the streams of a round
 */
function keepSending(generator, url, streams, seconds) {
  let stopped = false;
  let sums = [];
  const rounds = async () => {
    while (!stopped) {
      const results = await ask(generator, 'run', { url, streams: streams(), seconds });
      sums = results.map(({ requests, failed, latencies }, index) => ({
        requests: requests + (sums[index]?.requests ?? 0),
        failed: failed + (sums[index]?.failed ?? 0),
        latencies: latencies.concat(sums[index]?.latencies ?? []),
      }));
    }
    return sums;
  };
  const done = rounds();
  return () => {
    stopped = true;
    return done;
  };
}

module.exports = { checkRequest, dealOut, keepSending, loginRequest, Logins, Operations, sameFor, verifyRequest };
