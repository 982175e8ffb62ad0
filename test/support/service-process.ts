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
const waitMs = 120_000;

/**
 * The built service in a separate process, as another instance or to be killed. Needs a build.
 */
export class ServiceProcess {
  stdout = '';
  stderr = '';
  /** number of requests with a response */
  answered = 0;
  /** exit code, or null after a signal */
  readonly exit: Promise<number | null>;
  private readonly child: ChildProcess;
  private readonly dataDir = mkdtempSync(join(tmpdir(), 'carrier-identity-process-'));

  private constructor(
    readonly url: string,
    env: Record<string, string>,
    output: number | 'pipe',
  ) {
    if (!existsSync(main)) throw new Error('dist/ is missing: npm run build');
    // The process inherits neither the environment nor the .env file of the working directory.
    const environment = { PATH: process.env['PATH'], DATA_DIR: this.dataDir, ...env };
    this.child = spawn(process.execPath, [main], {
      cwd: this.dataDir,
      env: environment,
      stdio: ['ignore', output, output],
    });
    this.child.stdout?.on('data', (chunk: Buffer) => (this.stdout += chunk.toString()));
    this.child.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    // A failing test leaves no process behind.
    const end = () => this.child.kill('SIGKILL');
    process.once('exit', end);
    this.exit = once(this.child, 'close').then(([code]) => {
      process.off('exit', end);
      rmSync(this.dataDir, { recursive: true, force: true });
      return code as number | null;
    });
  }

  /** process id */
  get pid(): number {
    return this.child.pid as number;
  }

  /** all output */
  get output(): string {
    return this.stdout + this.stderr;
  }

  /**
   * Starts the service on a free port without waiting. With `output`, a file descriptor, stdout and
   * stderr are written there.
   */
  static async spawn(env: Record<string, string>, output: number | 'pipe' = 'pipe'): Promise<ServiceProcess> {
    const port = await freePort();
    return new ServiceProcess(`http://127.0.0.1:${port}`, { ...env, PORT: String(port) }, output);
  }

  /** Starts the service and waits until it is ready. */
  static async start(env: Record<string, string>): Promise<ServiceProcess> {
    const service = await ServiceProcess.spawn(env);
    await service.ready();
    return service;
  }

  /**
   * Starts another instance of a running service, with the same database, secret and public
   * address.
   */
  static async beside({ config }: TestService, env: Record<string, string> = {}): Promise<ServiceProcess> {
    const { DATABASE_URL, APP_SECRET, PUBLIC_URL, SMTP_URL = '' } = config;
    const limits = { LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '0', REQUESTS_PER_ADDRESS_PER_MINUTE: '0' };
    return ServiceProcess.start({ DATABASE_URL, APP_SECRET, PUBLIC_URL, SMTP_URL, ...limits, ...env });
  }

  /** Waits until the service is ready. */
  async ready(): Promise<void> {
    await this.until(async () => (await this.send('GET', '/health/ready')).status === 200);
  }

  /** Waits for a condition. An error counts as false. */
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

  /** Sends a request over a socket, and validates the response against the document. */
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

  /** Stops the service and returns its exit code. */
  async stop(): Promise<number | null> {
    this.child.kill('SIGTERM');
    return this.exit;
  }
}
