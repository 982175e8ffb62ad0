// Starts the built service with its own database, waits until it is ready, stops it, and prints the
// result in the form of the tests.
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, rmSync } = require('node:fs');
const { createServer } = require('node:net');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');

const patienceMs = 120_000;

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

/** Returns the status of a path, or 0 while nothing listens. */
const statusOf = (url) =>
  fetch(url, { redirect: 'manual' }).then(
    ({ status }) => status,
    () => 0,
  );

async function run() {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'carrier-identity-start-'));
  const env = { ...process.env, LOG_LEVEL: 'warn', PORT: String(port), DATA_DIR: join(folder, 'data') };
  const child = spawn(process.execPath, ['scripts/start.js'], { env, stdio: 'inherit' });
  const ended = once(child, 'exit');
  const end = Date.now() + patienceMs;
  const isReady = async () => (await statusOf(`http://127.0.0.1:${port}/health/ready`)) === 200;
  let ready = false;
  while (child.exitCode === null && Date.now() < end && !(ready = await isReady())) await delay(100);
  const page = ready ? await statusOf(`http://127.0.0.1:${port}/console/`) : 0;
  child.kill('SIGTERM');
  const [code] = await ended;
  rmSync(folder, { recursive: true, force: true });
  return ready && page === 200 && code === 0;
}

void run().then((passed) => {
  console.log(`Tests: 1 ${passed ? 'passed' : 'failed'} (start on Node ${process.version})`);
  process.exitCode = passed ? 0 : 1;
});
