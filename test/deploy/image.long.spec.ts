import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { freePort, whenListening } from '../support/process/built-program';
import { image, rendered } from '../support/process/chart';
import { appSecret } from '../support/service';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

/** Needs root, for mounts and users. */
describe('the image in a container of the chart', () => {
  const { spec: pod } = rendered('minimal')['Deployment']!.spec.template;
  const [container] = pod.containers;
  const { command: start, env } = image();
  const { command: migrate } = rendered('production')['Job']!.spec.template.spec.containers[0];
  let root: string;
  let database: TestDatabase;
  let settings: Record<string, string>;

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'carrier-identity-image-'));
    chmodSync(root, 0o755);
    copyImage(root);
    database = await createTestDatabase({ empty: true });
    const chartEnv = Object.fromEntries(container.env.map(({ name, value }) => [name, value]));
    settings = { PATH: '/node:/usr/sbin:/usr/bin', ...env, ...chartEnv, PORT: String(await freePort()) };
    const secrets = { DATABASE_URL: database.url, APP_SECRET: appSecret };
    for (const [name, secret] of Object.entries(secrets)) {
      const file = join(root, settings[`${name}_FILE`]!);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, secret, { mode: 0o440 });
      chownSync(file, 0, pod.securityContext.fsGroup);
    }
  });

  afterAll(async () => {
    rmSync(root, { recursive: true, force: true });
    await database.drop();
  });

  const args = (command: string[]) => [
    '--mount',
    'sh',
    'test/support/process/image-root.sh',
    root,
    process.execPath,
    ...command,
  ];
  const run = (command: string[]) => execFileSync('unshare', args(command), { env: settings, encoding: 'utf8' });

  it('can write to the folders of the chart only', () => {
    const script = `
      const codes = ['/app/x', '/tmp/x', '/x', '/usr/x', '/data/x'].map((file) => {
        try { require('fs').writeFileSync(file, ''); return 'written'; } catch ({ code }) { return code; }
      });
      console.log(codes.join());`;
    expect(run(['node', '-e', script]).trim()).toBe('EROFS,EROFS,EROFS,EROFS,written');
  });

  it('migrates, becomes ready without capabilities, writes mails to DATA_DIR, and stops in time', async () => {
    run(migrate!);
    const child = spawn('unshare', args(start), { env: settings });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    const service = await whenListening({ child, output: () => output }, settings['PORT']!);
    expect((await fetch(service.url + container.readinessProbe.httpGet.path)).status).toBe(200);
    const status = readFileSync(`/proc/${service.pid}/status`, 'utf8');
    expect(status).toMatch(/^Uid:\t1000\t1000\t1000\t1000$/m);
    expect(status.match(/^(CapEff|CapBnd|NoNewPrivs):\t\d+$/gm)).toEqual([
      'CapEff:\t0000000000000000',
      'CapBnd:\t0000000000000000',
      'NoNewPrivs:\t1',
    ]);
    run(['node', 'dist/src/cli/cli.js', 'mail', 'test', 'ada@example.com']);
    expect(readdirSync(join(root, 'data/outbox'))).toHaveLength(1);
    const shell = ['node', 'dist/src/cli/cli.js', 'user', 'find', 'ada'];
    expect(() => run(['env', 'IDENTITY_KEY=wrong', `IDENTITY_URL=${service.url}`, ...shell])).toThrow(
      'auth.token_invalid',
    );
    const stopped = performance.now();
    expect(await service.stop()).toBe(0);
    expect(performance.now() - stopped).toBeLessThan(pod.terminationGracePeriodSeconds * 1_000);
    expect(output).not.toMatch(/"level":"(error|fatal)"/);
  });
});

/** Makes /app and /data like the Dockerfile, with the packages of `npm ci --omit=dev`. */
function copyImage(root: string): void {
  const app = join(root, 'app');
  const packages = execFileSync('npm', ['ls', '--omit=dev', '--all', '--parseable'], { encoding: 'utf8' })
    .split('\n')
    .map((path) => path.slice(process.cwd().length + 1))
    .filter((path) => /^node_modules\/(?!typescript$|@types\/|@carrier-identity\/)(?!.*\/node_modules\/)/.test(path));
  for (const name of ['dist', 'package.json', 'openapi.json', ...packages])
    cpSync(name, join(app, name), { recursive: true, filter: (path) => !/\.(map|d\.[mc]?ts|tsbuildinfo)$/.test(path) });
  for (const name of ['package.json', 'dist/cjs'])
    cpSync(join('client', name), join(app, 'client', name), { recursive: true });
  cpSync('node_modules/@carrier-identity', join(app, 'node_modules/@carrier-identity'), {
    recursive: true,
    verbatimSymlinks: true,
  });
  mkdirSync(join(root, 'data'), { mode: 0o700 });
  chownSync(join(root, 'data'), 1000, 1000);
}
