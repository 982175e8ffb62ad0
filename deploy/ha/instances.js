// Two instances of the built service, their users, and requests to them.
const { randomBytes } = require('node:crypto');
const http = require('node:http');
const path = require('node:path');
const { freePort } = require('../../bench/processes');
const { waitFor } = require('./cluster');

const MAIN = path.join(__dirname, '../../dist/src/main.js');
const PASSWORD = 'a quiet river under seven bridges';
const LEASE_SECONDS = 5;
const LOGIN_USERS = 400;

/** Inserts users of the carriers `drill` and `bulk`. */
const USERS = `
  insert into users (user_id, user_type, name, email, email_verified_at, carrier_id, roles, status)
  select
    uuid_v7(), 'carrier', carrier_id || i, carrier_id || i || '@example.com', now(),
    carrier_id, '{carrier_user}', 'active'
  from (values ('drill', $1::integer), ('bulk', $2)) carriers (carrier_id, count), generate_series(1, count) i`;
/** Gives the users of `drill` the password of the administrator. */
const CREDENTIALS = `
  insert into credentials (user_id, password_hash)
  select users.user_id, given.password_hash
  from users, credentials given
  where users.carrier_id = 'drill'`;

/** The instances of the service. */
class Instances {
  #agent = new http.Agent({ keepAlive: true });
  #turn = 0;

  constructor(cluster, processes, sinks) {
    Object.assign(this, { cluster, processes, sinks, urls: [], isReady: [] });
  }

  /** Starts both instances, and creates the users. */
  async start(bulkUsers) {
    this.bulkUsers = bulkUsers;
    this.secret = randomBytes(32).toString('base64');
    this.ports = [await freePort(), await freePort()];
    this.urls = this.ports.map((port) => `http://127.0.0.1:${port}`);
    // Browsers keep cookies of unencrypted pages only for this host.
    this.publicUrl = `http://localhost:${this.ports[0]}`;
    for (const index of [0, 1]) await this.restart(index);
    await this.cluster.rows(USERS, [LOGIN_USERS, bulkUsers]);
    await this.cluster.rows(CREDENTIALS);
    await this.cluster.rows('analyze');
    const login = { login: 'admin@example.com', password: PASSWORD };
    const admin = (await this.#expect('POST', '/auth/login', { body: login })).access_token;
    const permissions = ['user:read', 'user:create', 'user:update', 'session:read', 'session:revoke', 'change:read'];
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    const key = { name: 'drill', permissions, expires_at };
    this.key = (await this.#expect('POST', '/auth/key/create', { token: admin, body: key })).key;
    const webhook = { url: this.sinks.webhooks.url, type_in: ['user.created', 'session.ended'] };
    await this.#expect('POST', '/webhook/create', { token: admin, body: webhook });
    this.cursor = (await this.#expect('GET', '/change/list', { token: this.key })).next_cursor;
  }

  /**
   * Starts an instance again, after it was killed if it still runs.
   * @param isKept whether its connections to an old primary survive
   */
  async restart(index, isKept = false) {
    await this.processes.kill(`identity${index + 1}`);
    const { directory } = this.processes;
    const env = {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      PORT: String(this.ports[index]),
      PUBLIC_URL: this.publicUrl,
      APP_SECRET: this.secret,
      DATA_DIR: path.join(directory, `identity${index + 1}`),
      ADMIN_EMAIL: 'admin@example.com',
      ADMIN_PASSWORD: PASSWORD,
      SMTP_URL: this.sinks.mails.url,
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32',
      LIVE_LOGIN_LEASE_SECONDS: String(LEASE_SECONDS),
      ACCESS_TOKEN_TTL_SECONDS: '3600',
      LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '0',
      REQUESTS_PER_ADDRESS_PER_MINUTE: '0',
      ...this.cluster.urls(isKept),
    };
    this.processes.start(`identity${index + 1}`, [process.execPath, MAIN], { env, cwd: directory });
    const isReady = async () => (await this.send(index, 'GET', '/health/ready')).status === 200;
    await waitFor(`instance ${index + 1}`, isReady);
    this.isReady[index] = true;
  }

  /** Kills an instance. */
  async kill(index) {
    this.isReady[index] = false;
    await this.processes.kill(`identity${index + 1}`);
  }

  /**
   * Sends a request to an instance.
   * @returns the response with its times. `status` is 0 if there was no response.
   */
  send(index, method, route, { token, body, headers = {}, timeoutMs = 10_000 } = {}) {
    const at = Date.now();
    const text = body === undefined ? undefined : JSON.stringify(body);
    const all = {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(text && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      ...headers,
    };
    return new Promise((resolve) => {
      const none = (error) => resolve({ status: 0, code: error.code, at, end: Date.now(), body: {} });
      const options = { method, agent: this.#agent, headers: all, signal: AbortSignal.timeout(timeoutMs) };
      const request = http.request(this.urls[index] + route, options, (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk)).once('error', none);
        response.once('end', () => {
          const answer = Buffer.concat(chunks).toString();
          const json = answer.startsWith('{') ? JSON.parse(answer) : {};
          const retryAfter = response.headers['retry-after'];
          resolve({ status: response.statusCode, code: json.code, retryAfter, at, end: Date.now(), body: json });
        });
      });
      request.once('error', none).end(text);
    });
  }

  /** Sends a request to the instances in turn, and prefers those that are ready. */
  async balance(method, route, options) {
    const first = this.#turn++ % this.urls.length;
    const second = (first + 1) % this.urls.length;
    const [index, other] = this.isReady[first] || !this.isReady[second] ? [first, second] : [second, first];
    const answer = await this.send(index, method, route, options);
    return answer.code === 'ECONNREFUSED' ? this.send(other, method, route, options) : answer;
  }

  async #expect(method, route, options) {
    const { status, body } = await this.send(0, method, route, options);
    if (status >= 300 || status === 0) throw new Error(`${route}: ${status} ${JSON.stringify(body)}`);
    return body;
  }
}

module.exports = { Instances, LEASE_SECONDS, LOGIN_USERS, PASSWORD };
