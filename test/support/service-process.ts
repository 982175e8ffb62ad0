import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './built-program';
import { assertDocumented, isJson } from './document';
import type { TestAnswer, TestRequest, TestService } from './service';
import { until } from './until';

const main = join(__dirname, '../../dist/src/main.js');
const waitMs = 60_000;

/**
 * The built service in a process of its own: another instance, or one that can be killed. Needs
 * `npm run build`.
 */
export class ServiceProcess {
  stdout = '';
  stderr = '';
  /** requests that got an answer */
  answered = 0;
  /** its exit code, null when a signal ended it */
  readonly exit: Promise<number | null>;
  private readonly child: ChildProcess;
  private readonly dataDir = mkdtempSync(join(tmpdir(), 'carrier-identity-process-'));

  private constructor(
    readonly url: string,
    env: Record<string, string>,
    output: number | 'pipe',
  ) {
    if (!existsSync(main)) throw new Error('dist/ is missing: npm run build');
    // nothing is inherited: neither the environment nor a .env file of the working directory
    const environment = { PATH: process.env['PATH'], DATA_DIR: this.dataDir, ...env };
    this.child = spawn(process.execPath, [main], {
      cwd: this.dataDir,
      env: environment,
      stdio: ['ignore', output, output],
    });
    this.child.stdout?.on('data', (chunk: Buffer) => (this.stdout += chunk.toString()));
    this.child.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    // a test that fails before it stops its instance leaves none behind
    const end = () => this.child.kill('SIGKILL');
    process.once('exit', end);
    this.exit = once(this.child, 'close').then(([code]) => {
      process.off('exit', end);
      rmSync(this.dataDir, { recursive: true, force: true });
      return code as number | null;
    });
  }

  /** of the process */
  get pid(): number {
    return this.child.pid as number;
  }

  /** everything it wrote */
  get output(): string {
    return this.stdout + this.stderr;
  }

  /**
   * Starts it on a free port without waiting for anything. With `output`, a file descriptor, it
   * writes there what else `stdout` and `stderr` would show.
   */
  static async spawn(env: Record<string, string>, output: number | 'pipe' = 'pipe'): Promise<ServiceProcess> {
    const port = await freePort();
    return new ServiceProcess(`http://127.0.0.1:${port}`, { ...env, PORT: String(port) }, output);
  }

  /** Starts it and waits until it is ready. */
  static async start(env: Record<string, string>): Promise<ServiceProcess> {
    const service = await ServiceProcess.spawn(env);
    await service.ready();
    return service;
  }

  /** Another instance of a running service: same database, same secret, same public address. */
  static async beside({ config }: TestService, env: Record<string, string> = {}): Promise<ServiceProcess> {
    const { DATABASE_URL, APP_SECRET, PUBLIC_URL, SMTP_URL = '' } = config;
    const limits = { LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '0', REQUESTS_PER_ADDRESS_PER_MINUTE: '0' };
    return ServiceProcess.start({ DATABASE_URL, APP_SECRET, PUBLIC_URL, SMTP_URL, ...limits, ...env });
  }

  /** Waits until it answers that requests can be served. */
  async ready(): Promise<void> {
    await this.until(async () => (await this.send('GET', '/health/ready')).status === 200);
  }

  /** Waits for a condition; what cannot be reached yet counts as not true. */
  async until(condition: () => boolean | Promise<boolean>): Promise<void> {
    let hasEnded = false;
    await until(async () => {
      const holds = await Promise.resolve()
        .then(condition)
        .catch(() => false);
      hasEnded = !holds && (this.child.exitCode !== null || this.child.signalCode !== null);
      return holds || hasEnded;
    }, waitMs).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${this.output}`);
    });
    if (hasEnded) throw new Error(`The service ended: ${this.output}`);
  }

  /** Sends a request over a real socket; its answer is checked against the document. */
  async send(
    method: string,
    path: string,
    { token, body, headers = {} }: Omit<TestRequest, 'ip'> = {},
  ): Promise<TestAnswer> {
    const response = await fetch(this.url + path, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    this.answered++;
    const text = await response.text();
    const type = response.headers.get('content-type') ?? '';
    assertDocumented(method, path, response.status, type, text);
    const parsed: unknown = isJson(type) ? JSON.parse(text) : undefined;
    return { status: response.status, headers: Object.fromEntries(response.headers), text, body: parsed };
  }

  /** kill -9 */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exit;
  }

  /** Asks it to stop, and returns its exit code. */
  async stop(): Promise<number | null> {
    this.child.kill('SIGTERM');
    return this.exit;
  }
}
