// Who asks, and which connection asks what.
const { PASSWORD } = require('./fill');

const JSON_HEADERS = { 'content-type': 'application/json' };
const AT_ONCE = 16;

/** Gives all connections the same request. */
function sameFor(connections, request) {
  return Array.from({ length: connections }, () => [request]);
}

/** Gives each connection its share of the requests. */
function dealOut(items, connections, toRequest) {
  return Array.from({ length: connections }, (_, own) => items.filter((_item, index) => index % connections === own).map(toRequest));
}

/** Users who log in one after the other; nobody twice until all had their turn. */
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

  /** In small groups: the service turns away what would wait too long. */
  async openMany(count) {
    const opened = [];
    while (opened.length < count) {
      const group = this.take(Math.min(AT_ONCE, count - opened.length));
      opened.push(...(await Promise.all(group.map((user) => this.open(user)))));
    }
    return opened;
  }
}

module.exports = { dealOut, Logins, sameFor };
