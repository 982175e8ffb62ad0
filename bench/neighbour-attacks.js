// The attacks of `bench:neighbour`, and the process that runs one of them. Started by neighbour.js.
const { randomBytes, randomInt, randomUUID } = require('node:crypto');
const http = require('node:http');
const net = require('node:net');
const { clearInterval, setInterval } = require('node:timers');
const { setTimeout: delay } = require('node:timers/promises');
const { answerParent } = require('./processes');

const DRIP_MS = 500;
const CSV = { 'content-type': 'text/csv' };
const CSV_HEADER = 'user_type,name,email,carrier_id,password_hash\n';

const ATTRIBUTES = Array.from({ length: 50 }, (_, index) => [`k${index}`, { b: 1 }]);
/** The largest accepted patch: 100 keys. */
const PATCH = JSON.stringify({ attributes: Object.fromEntries(ATTRIBUTES) });
const BAD_ESCAPES = `/health/live?${'%&'.repeat(20_000)}`;
const DEEP_JSON = '['.repeat(60_000);

const get = (path) => ({ method: 'GET', path, headers: {} });
const send = (method, path, body, headers = { 'content-type': 'application/json' }) => ({
  method,
  path,
  headers,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
const by = (token, request) => ({ ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } });
const manager = ({ tokens }, ...request) => by(tokens.attacker_manager, send(...request));
const auditor = ({ tokens }, path) => by(tokens.attacker_auditor, get(path));
/** Returns the beginning of a request, for attacks that never finish it. */
const headOf = ({ method, path, headers }) =>
  [`${method} ${path} HTTP/1.1`, 'host: x', ...Object.entries(headers).map((pair) => pair.join(': ')), ''].join('\r\n');
const md5Row = () => {
  const name = randomUUID();
  return `carrier,${name},${name}@example.com,attacker,${randomBytes(16).toString('hex')}\n`;
};
const newUser = (name) => ({ user_type: 'carrier', carrier_id: 'attacker', name, email: `${name}@example.com` });
const newKey = (permission) => ({
  name: randomUUID(),
  permissions: [permission],
  expires_at: new Date(Date.now() + 3_600_000).toISOString(),
});

/** `request` makes the request with a number. `last` is the previous response of the connection. */
const anonymous = (connections, request, more) => ({ who: '127.0.0.66', connections, request, ...more });
const tenant = (connections, request, more) => ({ who: '127.0.0.77', connections, request, ...more });
/** Instead of a whole request, sends `first`, then `drip` again and again, and reads nothing. */
const half = (first, drip = '') => ({ first, drip });

const ATTACKS = {
  escapes: anonymous(8, () => get(BAD_ESCAPES)),
  previews: tenant(20, (world) => manager(world, 'PATCH', '/user/all?everyone=true&dry_run=true', PATCH)),
  'deep lists': tenant(20, (world, n) =>
    auditor(world, `/user/list?q=example&count=exact&order_by=last_name&page=${300 + (n % 99)}`),
  ),
  'poison bulk': tenant(1, (world) => manager(world, 'PATCH', `/user/all?user_id_ne=${randomUUID()}`, PATCH), {
    pauseMs: 2_000,
  }),
  statements: tenant(8, (world) => {
    const values = Array.from({ length: 500 }, () => randomInt(2) === 1);
    return auditor(world, `/user/list?must_enroll_second_factor_in=${values}`);
  }),
  'bulk grants': tenant(4, (world, n) =>
    manager(world, 'PATCH', `/user/all?job_title_in=Crew-${n % 2},Line-${n % 3}`, {
      [n % 4 < 2 ? 'roles_remove' : 'roles_add']: ['carrier_user'],
    }),
  ),
  'slow hashes': tenant(2, (world) =>
    manager(world, 'POST', '/user/import', CSV_HEADER + Array.from({ length: 1_000 }, md5Row).join(''), CSV),
  ),
  'unread exports': tenant(4, ({ tokens, key }, n) =>
    half(`${headOf(by(n % 2 === 0 ? tokens.attacker_manager : key, get('/user/export')))}\r\n`),
  ),
  'self-changes': tenant(8, ({ tokens, self }, n) =>
    by(tokens.attacker_1, send('PATCH', `/user/${self}`, { first_name: `Ada ${n}` })),
  ),
  'creates with passwords': tenant(90, (world) =>
    manager(world, 'POST', '/user/create', { ...newUser(randomUUID()), password: randomUUID() }),
  ),
  'unknown logins': anonymous(100, () => send('POST', '/auth/login', { login: randomUUID(), password: randomUUID() })),
  'reset requests': anonymous(50, (_world, n) =>
    send('POST', '/auth/reset_email', { email: `attacker-${n % 5_000}@example.com` }),
  ),
  'forged tokens': anonymous(50, ({ tokens }) => {
    const [head, claims] = tokens.attacker_1.split('.');
    return send('POST', '/auth/check-token', { token: `${head}.${claims}.${randomBytes(64).toString('base64url')}` });
  }),
  'deep JSON': anonymous(8, () => send('POST', '/auth/login', DEEP_JSON)),
  'slow heads': anonymous(1_000, (_world, n) => half(headOf(get('/health/live')), n % 2 === 0 ? 'x-slow: 1\r\n' : '')),
  'slow uploads': tenant(50, (world) => {
    const head = headOf(manager(world, 'POST', '/user/import', '', { ...CSV, 'content-length': 1e6 }));
    return half(`${head}\r\n${CSV_HEADER}`, `${'c'.repeat(1_000)}\n`);
  }),
  'refresh loop': tenant(32, ({ refreshOfAttacker: refresh }, n, last) => {
    const [, next] = /"refresh_token":"([^"]+)"/.exec(last) ?? [];
    return send('POST', '/auth/check-token', { refresh_token: next ?? refresh[n % refresh.length] });
  }),
  'check storm': tenant(64, ({ tokens }) => send('POST', '/auth/check-token', { token: tokens.attacker_1 })),
  'session ends': tenant(20, (world) =>
    manager(world, 'DELETE', `/auth/session/all?user_id_in=${world.ids.join(',')}`, '', {}),
  ),
  'key creation': tenant(20, (world) => manager(world, 'POST', '/auth/key/create', newKey('user:read'))),
};

/** Adds an API key of the attacker to the world. */
async function arm(world, ask) {
  world.key = JSON.parse((await ask(manager(world, 'POST', '/auth/key/create', newKey('user:export')))).text).key;
}

/** Sends a request. @returns status 0 without a response, and the beginning of the text */
function exchange(url, agent, { method, path, headers, body = '' }) {
  return new Promise((resolve) => {
    const options = { agent, method, headers: { 'content-length': Buffer.byteLength(body), ...headers } };
    const request = http.request(url + path, options, (response) => {
      let text = '';
      response.on('data', (part) => (text = text.length < 4_096 ? text + part : text));
      response.on('close', () => resolve({ status: response.statusCode, text }));
    });
    request.on('error', () => resolve({ status: 0, text: '' }));
    request.end(body);
  });
}

/** Occupies a connection until a time. @returns whether the service closed it before */
async function occupy(url, localAddress, { first, drip }, until) {
  const { hostname: host, port } = new URL(url);
  const socket = net.connect({ host, port: Number(port), localAddress }).on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', () => resolve('cut')));
  socket.write(first);
  const timer = setInterval(() => drip !== '' && socket.write(drip), DRIP_MS);
  const outcome = await Promise.race([closed, delay(until - performance.now(), 'held')]);
  clearInterval(timer);
  socket.destroy();
  return outcome;
}

let running;

/**
 * Begins an attack, which ends after some seconds or at most `count` requests. Returns after its
 * head start.
 */
async function start({ name, world, url, seconds, aheadMs, count = Infinity }) {
  const { who, connections, request, pauseMs = 0 } = ATTACKS[name];
  const agent = new http.Agent({ keepAlive: true, localAddress: who });
  await arm(world, (one) => exchange(url, agent, one));
  const until = performance.now() + aheadMs + seconds * 1_000;
  const statuses = {};
  let sent = 0;
  const work = async () => {
    for (let last = ''; performance.now() < until && sent < count;) {
      const next = request(world, sent++, last);
      const { status, text } =
        next.first === undefined
          ? await exchange(url, agent, next)
          : { status: await occupy(url, who, next, until), text: '' };
      const outcome = status === 0 && performance.now() >= until ? 'unanswered' : status;
      statuses[outcome] = (statuses[outcome] ?? 0) + 1;
      last = text;
      // A refused connection must not become a busy loop.
      if (pauseMs > 0 || status === 0) await delay(Math.max(pauseMs, 10));
    }
  };
  const all = Promise.all(Array.from({ length: connections }, work));
  running = Promise.race([all, delay(until - performance.now())]).then(async () => {
    agent.destroy();
    await all;
    return statuses;
  });
  await delay(aheadMs);
}

/** Waits for the end of the attack. @returns its responses by status */
const stop = () => running;

answerParent({ start, stop, list: () => Object.keys(ATTACKS) });
