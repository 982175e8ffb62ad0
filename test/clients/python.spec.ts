import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { createKey } from '../support/data/keys';
import { TestService } from '../support/service';

const run = promisify(execFile);
const client = resolve('clients/python');
const requirements = join(client, 'tests/requirements.txt');
const { PATH, HOME } = process.env;

/** Installs the libraries of the tests into a virtual environment, once. Returns its folder. */
async function environment(): Promise<string> {
  const check = 'import ensurepip, sys, venv; assert sys.version_info >= (3, 10); print(sys.version, sys.prefix)';
  const { stdout } = await run('python3', ['-c', check]);
  const id = createHash('sha256').update(stdout).update(readFileSync(requirements)).digest('hex').slice(0, 12);
  const folder = resolve('node_modules/.cache', `python-${id}`);
  if (!existsSync(join(folder, 'complete'))) {
    rmSync(folder, { recursive: true, force: true });
    await run('python3', ['-m', 'venv', folder]);
    const pip = [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      '--timeout',
      '15',
      '-r',
      requirements,
    ];
    await run(join(folder, 'bin/python'), pip, { timeout: 240_000 });
    await run(join(folder, 'bin/python'), ['-c', `open(${JSON.stringify(join(folder, 'complete'))}, 'w')`]);
  }
  return folder;
}

describe('the Python client', () => {
  let folder: string | undefined;
  let lacking = '';
  let installed: string;
  let service: TestService | undefined;
  let env: NodeJS.ProcessEnv;

  /** Runs a module of Python on the installed package, and returns what it prints if it fails. */
  async function failureOf(...args: string[]): Promise<string> {
    if (folder === undefined) return '';
    const options = { env, cwd: join(client, 'tests'), timeout: 240_000, maxBuffer: 1e7 };
    try {
      await run(join(folder, 'bin/python'), ['-m', ...args], options);
      return '';
    } catch (error) {
      const { stdout, stderr, message } = error as Error & { stdout: string; stderr: string };
      return `${stdout}${stderr}` || message;
    }
  }
  const unittest = (file: string) => failureOf('unittest', '--verbose', file);

  beforeAll(async () => {
    folder = await environment().catch((error: unknown) => {
      lacking = String(error);
      return undefined;
    });
    if (folder === undefined) return;
    installed = mkdtempSync(join(tmpdir(), 'carrier-identity-python-'));
    const pip = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--no-build-isolation', '--target', installed, client];
    await run(join(folder, 'bin/python'), pip);
    service = await TestService.start({ TOKEN_AUDIENCES: 'billing' });
    const { token } = service.admin;
    const role = { name: 'clerk', user_types: ['carrier'], permissions: ['billing:read'] };
    await service.post('/role/create', { token, body: role });
    const { key } = await createKey(service, ['user:read', 'change:read']);
    const old = { tx: '3', event_id: '00000000-0000-0000-0000-000000000000', at: new Date(0) };
    const expired = await service.inside<{ encode: (place: object) => string }>('ChangeCursors').encode(old);
    env = { PATH, HOME, PYTHONPATH: installed, PYTHONDONTWRITEBYTECODE: '1', IDENTITY_URL: service.url };
    Object.assign(env, {
      IDENTITY_KEY: key,
      ADMIN_TOKEN: token,
      EXPIRED_CURSOR: expired,
      ISSUER: 'http://localhost:3000',
    });
  });
  afterAll(async () => {
    await service?.close();
    if (installed !== undefined) rmSync(installed, { recursive: true, force: true });
  });

  it('is tested in CI, and elsewhere if Python 3.10 with venv and PyPI are available', () => {
    if (lacking !== '') console.warn(`clients/python is not tested: ${lacking}`);
    expect(process.env['CI'] === undefined ? '' : lacking).toBe('');
  });

  it('checks tokens like the service, and never rejects a token because the service is unavailable', async () => {
    expect(await unittest('test_verifier')).toBe('');
  });

  it('guards FastAPI with the responses of RFC 6750', async () => {
    expect(await unittest('test_fastapi')).toBe('');
  });

  it('keeps a copy of the users, even if the cursor expires or the service is unavailable', async () => {
    expect(await unittest('test_sync')).toBe('');
  });

  it('has types that mypy accepts in strict mode', async () => {
    const cache = resolve('node_modules/.cache/mypy');
    expect(await failureOf('mypy', '--strict', '--python-version', '3.10', '--cache-dir', cache, '.')).toBe('');
  });

  it('has at most 300 lines', () => {
    const files = ['__init__', 'fastapi', 'sync', 'verifier'].map((name) => `src/carrier_identity/${name}.py`);
    const lines = files.flatMap((file) => readFileSync(join(client, file), 'utf8').trimEnd().split('\n'));
    expect(lines.length).toBeLessThanOrEqual(300);
  });
});
