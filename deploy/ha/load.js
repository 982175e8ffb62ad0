// The load of a drill. It remembers each acknowledged write, and whether an ended session is still
// accepted.
const { randomUUID } = require('node:crypto');
const { setTimeout: delay } = require('node:timers/promises');
const { LOGIN_USERS, PASSWORD } = require('./instances');

/** Users whose sessions stay, log in only, lose a session, or are disabled, by number. */
const STAYING = 6;
const DISABLED_FROM = 200;
const RETRY_MS = 200;
/** Ended sessions are checked often, then rarely: an instance may accept them again. */
const OFTEN = { forMs: 7_000, everyMs: 250 };
const RARELY_MS = 3_000;

let users = STAYING;
let disabled = DISABLED_FROM;

/** The requests during one fault, and their results. */
class Load {
  #isStopped = false;
  #pending = new Set();
  /** times of successful requests by kind */
  successes = {};
  /** responses that no client should see */
  unexpected = [];
  unanswered = 0;
  unavailable = 0;
  stale = [];
  created = [];
  ended = [];
  loggedIn = [];
  disabledUsers = [];

  constructor(instances, name) {
    Object.assign(this, { instances, name, startedAt: Date.now(), tokens: [] });
  }

  async start() {
    for (let number = 1; number <= STAYING; number++) {
      const { body } = await this.#login('setup', number);
      this.tokens.push(body.access_token);
    }
    for (const index of [0, 1]) {
      this.#repeat(100, () => this.#check(`checks ${index + 1}`, index));
      this.#repeat(250, () => this.#ready(index));
    }
    const list = { token: this.instances.key };
    this.#repeat(500, () => this.#balance('lists', 'GET', '/user/list?per_page=10&count=none', list));
    this.#repeat(600, async () => {
      const { status, body, end } = await this.#login('logins', this.#nextUser());
      if (status === 200) this.loggedIn.push({ id: body.session_id, end });
    });
    this.#repeat(300, () => this.#create());
    this.#inTurn(600, () => this.#endSession());
    this.#inTurn(1_500, () => this.#disable());
  }

  /** Starts a change of all users of the carrier `bulk`. */
  async startBulk() {
    const { key, bulkUsers } = this.instances;
    const options = { token: key, body: { attributes: { drill: this.name } }, timeoutMs: 30_000 };
    const headers = { 'idempotency-key': randomUUID() };
    const route = `/user/all?carrier_id=bulk&expected=${bulkUsers}`;
    const { status, body } = await this.instances.balance('PATCH', route, { ...options, headers });
    if (status === 0 || status >= 300) throw new Error(`bulk change: ${status} ${JSON.stringify(body)}`);
    this.operation = body.operation_id;
  }

  /** Waits until all creates are acknowledged. */
  async stop() {
    this.#isStopped = true;
    await Promise.all(this.#pending);
  }

  #nextUser() {
    users = users + 1 < DISABLED_FROM ? users + 1 : STAYING + 1;
    return users;
  }

  #record(kind, answer, isSuccess = answer.status >= 200 && answer.status < 300) {
    const { status, code, retryAfter, end } = answer;
    if (isSuccess) (this.successes[kind] ??= []).push(end);
    // A load balancer sends no requests to an instance that is gone.
    else if (status === 0) this.unanswered += code === 'ECONNREFUSED' ? 0 : 1;
    else if (status === 503 && retryAfter !== undefined) this.unavailable++;
    else this.unexpected.push({ kind, status, code, at: end });
    return answer;
  }

  async #balance(kind, method, route, options) {
    return this.#record(kind, await this.instances.balance(method, route, options));
  }

  #login(kind, number) {
    const body = { login: `drill${number}`, password: PASSWORD };
    return this.#balance(kind, 'POST', '/auth/login', { body });
  }

  async #check(kind, index) {
    const token = this.tokens[Math.floor(Math.random() * this.tokens.length)];
    return this.#record(kind, await this.instances.send(index, 'POST', '/auth/check-token', { body: { token } }));
  }

  async #ready(index) {
    const answer = await this.instances.send(index, 'GET', '/health/ready', { timeoutMs: 2_000 });
    this.instances.isReady[index] = answer.status === 200;
    if (answer.status === 200) this.#record(`ready ${index + 1}`, answer);
  }

  async #create() {
    const name = `${this.name}-${randomUUID().slice(0, 8)}`;
    const headers = { 'idempotency-key': randomUUID() };
    const user = {
      user_type: 'carrier',
      carrier_id: 'drill',
      name,
      email: `${name}@example.com`,
      roles: ['carrier_user'],
    };
    for (;;) {
      const options = { token: this.instances.key, headers, body: user };
      const { status, body, end } = await this.#balance('creates', 'POST', '/user/create', options);
      if (status === 201) return this.created.push({ id: body.user_id, email: user.email, end });
      await delay(RETRY_MS);
    }
  }

  async #endSession() {
    const { status, body } = await this.#login('logins', this.#nextUser());
    if (status !== 200) return;
    const { session_id: id, access_token: token } = body;
    await this.#warm(token);
    const options = { token: this.instances.key };
    const answer = await this.#balance('ends', 'DELETE', `/auth/session/${id}`, options);
    if (answer.status < 200 || answer.status >= 300) return;
    this.ended.push({ id, end: answer.end });
    this.#track(this.#watch('session', token, answer.end));
  }

  async #disable() {
    disabled = disabled < LOGIN_USERS ? disabled + 1 : DISABLED_FROM + 1;
    const { status, body } = await this.#login('logins', disabled);
    if (status !== 200) return;
    const { access_token: token } = body;
    await this.#warm(token);
    const { body: list } = await this.#balance('lists', 'GET', `/user/list?name=drill${disabled}&count=none`, {
      token: this.instances.key,
    });
    const id = list.items?.[0]?.user_id;
    if (id === undefined) return;
    const options = { token: this.instances.key, body: { status: 'disabled' } };
    const answer = await this.#balance('disables', 'PATCH', `/user/${id}`, options);
    if (answer.status !== 200) return;
    this.disabledUsers.push({ id, end: answer.end });
    this.#track(this.#watch('user', token, answer.end));
  }

  /** Lets both instances keep a session in memory. */
  async #warm(token) {
    for (const index of [0, 1]) await this.instances.send(index, 'POST', '/auth/check-token', { body: { token } });
  }

  /** Records each time that an instance accepts a token which ended at a time. */
  async #watch(what, token, endedAt) {
    const watchAt = async (index) => {
      while (!this.#isStopped) {
        const answer = await this.instances.send(index, 'POST', '/auth/check-token', { body: { token } });
        if (answer.status === 200 && answer.at > endedAt) this.stale.push({ what, index, ms: answer.at - endedAt });
        else if (answer.status !== 401) this.#record('watch', answer);
        await delay(Date.now() - endedAt < OFTEN.forMs ? OFTEN.everyMs : RARELY_MS);
      }
    };
    await Promise.all([watchAt(0), watchAt(1)]);
  }

  #track(work) {
    this.#pending.add(work);
    void work.finally(() => this.#pending.delete(work));
  }

  /** Starts a request at each interval, also while earlier requests wait. */
  #repeat(everyMs, work) {
    this.#track(
      (async () => {
        while (!this.#isStopped) {
          this.#track(work());
          await delay(everyMs);
        }
      })(),
    );
  }

  #inTurn(pauseMs, work) {
    this.#track(
      (async () => {
        while (!this.#isStopped) {
          await work();
          await delay(pauseMs);
        }
      })(),
    );
  }
}

/** Follows the feed of changes over all faults. */
class Feed {
  received = new Map();

  constructor(instances) {
    this.instances = instances;
    void this.#follow();
  }

  async #follow() {
    let { cursor } = this.instances;
    for (;;) {
      const route = `/change/list?per_page=1000&wait=5&after=${encodeURIComponent(cursor)}`;
      const answer = await this.instances.balance('GET', route, { token: this.instances.key, timeoutMs: 20_000 });
      if (answer.status === 200) {
        for (const { change_id } of answer.body.items)
          this.received.set(change_id, (this.received.get(change_id) ?? 0) + 1);
        cursor = answer.body.next_cursor;
      } else await delay(RETRY_MS);
    }
  }
}

module.exports = { Feed, Load };
