// Starts instances of the service with the settings of production, but without limits per address.
const { randomBytes } = require('node:crypto');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { freePort, startNode } = require('./processes');

const DIST = path.join(__dirname, '..', 'dist', 'src');
const READY_WITHIN_MS = 30_000;

/**
 * Returns the settings that all instances on one database share, so that they accept the same
 * tokens.
 */
function environmentFor(databaseUrl, directory) {
  return {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    PORT: '0',
    PUBLIC_URL: 'http://localhost',
    DATABASE_URL: databaseUrl,
    APP_SECRET: randomBytes(32).toString('base64'),
    DATA_DIR: directory,
    LOG_LEVEL: 'warn',
    ACCESS_TOKEN_TTL_SECONDS: '3600',
    LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '0',
    REQUESTS_PER_ADDRESS_PER_MINUTE: '0',
  };
}

/**
 * Starts an instance and waits until it is ready.
 * @param options.dist compiled service, by default of this tree
 * @param options.withinMs time to wait, by default 30 s
 */
async function startInstance(environment, options) {
  const { measured, pinned, profile, dist = DIST, stdout = 'ignore', withinMs = READY_WITHIN_MS } = options;
  const port = await freePort();
  const profiling = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${path.resolve(profile)}`];
  const start = performance.now();
  const child = startNode([...profiling, path.join(dist, 'main.js')], {
    measured,
    pinned,
    env: { ...environment, PORT: String(port) },
    cwd: environment.DATA_DIR,
    stdout,
  });
  const url = `http://127.0.0.1:${port}`;
  while (!(await fetch(`${url}/health/ready`).catch(() => ({ ok: false }))).ok) {
    if (child.exitCode !== null || performance.now() - start > withinMs) throw new Error('the service does not start');
    await delay(20);
  }
  return { child, url, readyMs: Math.round(performance.now() - start) };
}

module.exports = { DIST, environmentFor, startInstance };
