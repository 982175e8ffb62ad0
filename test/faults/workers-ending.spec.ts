import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, type ServiceProcess, startServiceProcess } from '../support/built-program';
import { isAlive } from '../support/embedded-postgres-sandbox';
import { adminEmail, appSecret, password } from '../support/service';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { until } from '../support/until';
import { workerPids } from '../support/worker-pids';

let database: TestDatabase;
let service: ServiceProcess;
const environment = () => ({
  DATABASE_URL: database.url,
  APP_SECRET: appSecret,
  ADMIN_EMAIL: adminEmail,
  ADMIN_PASSWORD: password,
});

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

describe('two workers', () => {
  const start = async () => {
    service = await startServiceProcess({ ...environment(), WORKERS: '2' });
    await until(() => workers().length === 2);
  };
  afterAll(async () => {
    // A failed test may have left a worker stopped. It could not end with the primary process.
    for (const pid of workers()) if (isAlive(pid)) process.kill(pid, 'SIGCONT');
    await service.kill();
  });

  const workers = () => workerPids(service.output());
  it('end with the primary process when it is killed', async () => {
    await start();
    const running = workers();
    await service.kill();
    await until(() => !running.some((pid) => isAlive(pid)));
  });

  it('end with the primary process when they hang', async () => {
    await start();
    process.kill(workers()[1]!, 'SIGSTOP');
    expect(await service.stop()).toBe(1);
    await until(() => !workers().some((pid) => isAlive(pid)));
  });
});

it('is an instance of its own in a worker of another program', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'carrier-identity-cluster-'));
  const program = join(directory, 'cluster.js');
  const main = join(__dirname, '../../dist/src/main.js');
  writeFileSync(
    program,
    `const cluster = require('node:cluster');
     cluster.setupPrimary({ exec: ${JSON.stringify(main)} });
     cluster.fork().on('exit', (code) => process.exit(code));`,
  );
  const port = await freePort();
  const env = { PATH: process.env['PATH'], ...environment(), PORT: String(port) };
  const child = spawn(process.execPath, [program], { cwd: directory, env });
  const closed = once(child, 'close');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  await until(() => child.exitCode !== null || output.includes(' listens on '));
  child.kill('SIGKILL');
  await closed;
  rmSync(directory, { recursive: true });
  expect(output).toContain(' listens on ');
});
