// Users who log in, and the distribution of requests among connections.
const path = require('node:path');
const { addSessions, PASSWORD } = require('./fill');
const { ask, startNode } = require('./processes');

const JSON_HEADERS = { 'content-type': 'application/json' };
const AT_ONCE = 16;

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

/** Users who log in in turn. */
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
    const body = JSON.stringify({ login: name, password: PASSWORD });
    const response = await fetch(`${this.service}/auth/login`, { method: 'POST', headers: JSON_HEADERS, body });
    if (response.status !== 200) throw new Error(`login of ${name}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  /** Logs in small groups in: the service rejects logins that would wait too long. */
  async openMany(count) {
    const opened = [];
    while (opened.length < count) {
      const group = this.take(Math.min(AT_ONCE, count - opened.length));
      opened.push(...(await Promise.all(group.map((user) => this.open(user)))));
    }
    return opened;
  }
}

/** Creates sessions with access tokens, without logins. */
class MadeSessions {
  constructor(client, signer) {
    this.client = client;
    this.signer = signer;
  }

  static async start({ database: { client }, environment, pinned }) {
    const signer = startNode([path.join(__dirname, 'signer.js')], { measured: false, pinned, ipc: true });
    await ask(signer, 'start', environment);
    return new MadeSessions(client, signer);
  }

  /** Creates sessions of active Carrier Users. */
  async open(count, condition = 'true', order = 'random()') {
    return this.sign(await addSessions(this.client, count, `status = 'active' and ${condition}`, order));
  }

  async sign(sessions) {
    const signed = await ask(this.signer, 'sign', sessions);
    return sessions.map((session, index) => ({ ...session, access_token: signed[index] }));
  }
}

module.exports = { dealOut, Logins, MadeSessions, sameFor };
