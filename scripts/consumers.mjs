// Runs the code of "Standard libraries" in docs/modules.md against the service, and prints what
// each library responds. Needs Java 17, Maven, Go and Python, and downloads the libraries. Run it
// before each release, and copy the table to docs/modules.md.
// Usage: node scripts/consumers.mjs [name ...]
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const root = join(import.meta.dirname, '..');
const own = join(import.meta.dirname, 'consumers');
const work = mkdtempSync(join(tmpdir(), 'consumers-'));
const password = 'a quiet river under seven bridges';
const documentedIssuer = 'https://identity.example.net';
const children = new Set();

function run([program, ...options], where = {}) {
  execFileSync(program, options, { stdio: 'inherit', ...where });
}

function start(command, options) {
  const child = spawn(command[0], command.slice(1), { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  child.output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (child.output += chunk));
  children.add(child);
  child.once('close', () => children.delete(child));
  return child;
}

async function stop(child) {
  if (!children.has(child)) return;
  child.kill();
  await once(child, 'close');
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Waits until a URL responds. */
async function responds(url, child) {
  for (let tries = 0; tries < 600; tries++) {
    if (child.exitCode !== null) break;
    if (
      await fetch(url).then(
        () => true,
        () => false,
      )
    )
      return;
    await delay(200);
  }
  throw new Error(`${url} does not respond:\n${child.output}`);
}

const documented = new Map(
  [...readFileSync(join(root, 'docs/modules.md'), 'utf8').matchAll(/^```\w+\n(?:\/\/|#) (\S+)\n([^]*?)^```$/gm)].map(
    ([, name, code]) => [name, code],
  ),
);
/** Returns code of docs/modules.md with the issuer of the running service. */
const codeOf = (name, issuer) => documented.get(name).replaceAll(documentedIssuer, issuer);

/** Creates a folder with a copy of scripts/consumers/<kind>. */
function folder(name, kind) {
  const directory = join(work, name);
  cpSync(join(own, kind), directory, { recursive: true });
  return directory;
}

function spring(name, issuer, configuration, bean = '') {
  const directory = folder(name, 'spring');
  const [sources, resources] = ['java/billing', 'resources'].map((path) => join(directory, 'src/main', path));
  for (const path of [sources, resources]) mkdirSync(path, { recursive: true });
  const source = readFileSync(join(directory, 'Billing.java'), 'utf8');
  writeFileSync(join(sources, 'Billing.java'), source.replace('// INSERT', bean));
  writeFileSync(join(resources, 'application.yaml'), codeOf(configuration, issuer));
  run(['mvn', '-q', '-B', 'compile', 'dependency:copy-dependencies'], { cwd: directory });
  return { command: ['java', '-cp', 'target/classes:target/dependency/*', 'billing.Billing'], cwd: directory };
}

/** Builders of modules that serve `/invoice` on $PORT or $SERVER_PORT. Each returns a command. */
const consumers = {
  'spring-jwt': (issuer) => spring('spring-jwt', issuer, 'jwt.yaml', codeOf('JwtConfiguration.java', issuer)),
  'spring-jwt-without-bean': (issuer) => spring('spring-jwt-without-bean', issuer, 'jwt.yaml'),
  'spring-opaque': (issuer) =>
    spring('spring-opaque', issuer, 'opaque.yaml', codeOf('OpaqueConfiguration.java', issuer)),
  pyjwt: (issuer) => {
    const directory = folder('pyjwt', 'python');
    writeFileSync(join(directory, 'caller.py'), codeOf('caller.py', issuer));
    run(['python3', '-m', 'venv', 'venv'], { cwd: directory });
    run(['venv/bin/pip', 'install', '-q', 'pyjwt[crypto]'], { cwd: directory });
    return { command: ['venv/bin/python', 'main.py'], cwd: directory };
  },
  'go-oidc': (issuer) => {
    const directory = folder('go-oidc', 'go');
    const imports = 'package main\n\nimport (\n\t"context"\n\n\t"github.com/coreos/go-oidc/v3/oidc"\n)\n\n';
    writeFileSync(join(directory, 'caller.go'), imports + codeOf('caller.go', issuer));
    run(['go', 'mod', 'init', 'billing'], { cwd: directory, stdio: 'ignore' });
    run(['go', 'mod', 'tidy'], { cwd: directory, stdio: 'ignore' });
    run(['go', 'build', '-o', 'billing', '.'], { cwd: directory });
    return { command: ['./billing'], cwd: directory };
  },
};

async function startService() {
  const port = await freePort();
  const [url, BASE_PATH] = [`http://127.0.0.1:${port}`, '/identity'];
  const child = start(['node', join(root, 'dist/src/main.js')], {
    cwd: work,
    env: {
      ...{ PATH: process.env.PATH, PORT: port, PUBLIC_URL: url, BASE_PATH, DATA_DIR: join(work, 'data') },
      ...{ ADMIN_EMAIL: 'admin@example.com', ADMIN_PASSWORD: password, LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: 0 },
    },
  });
  await responds(`${url}${BASE_PATH}/health/ready`, child);
  return { child, issuer: url + BASE_PATH };
}

async function main(names) {
  run(['node', join(root, 'scripts/start.js'), '--build']);
  const service = await startService();
  const { issuer } = service;
  const send = async (method, path, token, body) => {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
    const response = await fetch(issuer + path, { method, headers, body: body && JSON.stringify(body) });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.status === 204 ? null : response.json();
  };
  const login = (name) => send('POST', '/auth/login', null, { login: name, password });
  const admin = (await login('admin@example.com')).access_token;
  const clerk = { name: 'clerk', user_types: ['carrier'], permissions: ['billing:read'] };
  await send('POST', '/role/create', admin, clerk);
  const expires_at = new Date(Date.now() + 86_400_000).toISOString();
  const key = await send('POST', '/auth/key/create', admin, {
    name: 'm',
    permissions: ['token:introspect'],
    expires_at,
  });

  const modules = [];
  for (const name of names) {
    const { command, cwd } = consumers[name](issuer);
    const PORT = await freePort();
    const keys = { KEY_ID: key.key_id, KEY: key.key };
    const child = start(command, { cwd, env: { ...process.env, ...keys, PORT, SERVER_PORT: PORT } });
    const url = `http://127.0.0.1:${PORT}/invoice`;
    await responds(url, child);
    modules.push({ name, url, child });
  }
  const ask = async (url, token) => {
    const response = await fetch(url, { headers: token ? { authorization: `Bearer ${token}` } : {} });
    const [, ...rights] = (await response.text()).trim().split(' ');
    return response.ok
      ? `${response.status} ${rights.filter((one) => !one.startsWith('FACTOR_')).join(' ')}`.trim()
      : String(response.status);
  };
  const rows = [];
  for (const { name, url } of modules) {
    const user = {
      user_type: 'carrier',
      carrier_id: 'c1',
      name: `u-${name}`,
      email: `${name}@example.com`,
      roles: ['clerk'],
    };
    const { user_id } = await send('POST', '/user/create', admin, { ...user, password, must_change_password: false });
    const [first, second] = [await login(user.name), await login(user.name)].map((one) => one.access_token);
    const row = { library: name, none: await ask(url), valid: await ask(url, first) };
    row.forged = await ask(url, `${first.slice(0, -4)}AAAA`);
    await send('PATCH', `/user/${user_id}`, admin, { roles: [] });
    row['role removed'] = await ask(url, second);
    await send('POST', '/auth/logout', first);
    row['session ended'] = await ask(url, first);
    rows.push({ ...row, live: second });
  }
  await stop(service.child);
  for (const [index, { url }] of modules.entries()) {
    const { live, ...row } = rows[index];
    rows[index] = { ...row, 'service away': await ask(url, live) };
  }
  console.table(rows);
}

try {
  const [, , ...names] = process.argv;
  await main(names.length > 0 ? names : Object.keys(consumers));
} finally {
  await Promise.all([...children].map(stop));
  rmSync(work, { recursive: true, force: true });
}
