import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, type ServiceProcess, startServiceProcess } from '../support/built-program';
import { isAlive } from '../support/embedded-postgres-sandbox';
import { adminEmail, appSecret, password } from '../support/service';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { until } from '../support/until';
import { workerPids } from '../support/worker-pids';

jest.setTimeout(180_000);

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
  const start = async (env: Record<string, string> = {}) => {
    service = await startServiceProcess({ ...environment(), WORKERS: '2', ...env });
  };
  afterAll(async () => {
    // A failed test may have left a worker stopped. It could not end with the primary process.
    for (const pid of workers()) if (isAlive(pid)) process.kill(pid, 'SIGCONT');
    await service.kill();
  });

  const workers = () => workerPids(service.output());
  /** Requests over a new connection, which goes to the next worker, and returns the status. */
  const statusOf = (path: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const sent = get(service.url + path, { agent: false }, (response) => {
        resolve(response.statusCode);
        response.destroy();
      });
      sent.on('error', reject);
    });

  it('lower no count of the metrics when a worker hangs or ends', async () => {
    const port = await freePort();
    await start({ METRICS_PORT: String(port) });
    for (let request = 0; request < 10; request++) expect(await statusOf('/health/live')).toBe(200);
    const counted = async () => {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      return Number(/_count\{[^}]*route="\/health\/live"[^}]*\} (\d+)$/m.exec(text)?.[1]);
    };
    await until(async () => (await counted()) === 10);
    const counts: number[] = [];
    for (const pid of workers()) {
      process.kill(pid, 'SIGSTOP');
      counts.push(await counted());
      const before = workers().length;
      process.kill(pid, 'SIGKILL');
      await until(() => workers().length > before);
      counts.push(await counted());
    }
    expect(counts).toEqual([10, 10, 10, 10]);
  });

  it('end with the primary process when it is killed', async () => {
    const running = workers().filter((pid) => isAlive(pid));
    await service.kill();
    expect(running).toHaveLength(2);
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
