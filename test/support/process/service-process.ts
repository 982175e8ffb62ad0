import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '../client';
import { until } from '../until';

/** The methods of a provider of the service, called through IPC. */
type Called<T> = {
  [K in keyof T]: T[K] extends (...args: infer A) => infer R ? (...args: A) => Promise<Awaited<R>> : never;
};

const main = join(__dirname, '../../../dist/src/main.js');
const inside = join(__dirname, 'inside.js');
/** Saves a fifth of a start: 1.8 s instead of 2.3 s to load the modules of the service. */
const compileCache = join(tmpdir(), 'carrier-identity-compile-cache');
/** Only stops a wait that never ends: a start takes seconds on a busy machine. */
const waitMs = 240_000;

/** Processes of the test file, for the report of a failure. */
export const processes = new Set<ServiceProcess>();

/** The built service in a process of its own. Needs a build. */
export class ServiceProcess extends Client {
  stdout = '';
  stderr = '';
  /** exit code, or null after a signal */
  readonly exit: Promise<number | null>;
  private readonly child: ChildProcess;
  readonly dataDir = mkdtempSync(join(tmpdir(), 'carrier-identity-data-'));
  private readonly calls = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  private knownPort: number;
  private called = 0;

  /**
   * Starts the service on a free port, without waiting. The process inherits neither the
   * environment nor the .env file of the working directory.
   * @param output file descriptor for stdout and stderr; `env` then needs a PORT
   */
  constructor(env: Record<string, string>, output: number | 'pipe' = 'pipe') {
    super(env['BASE_PATH'] ?? '');
    this.knownPort = Number(env['PORT'] ?? 0);
    if (!existsSync(main)) throw new Error('dist/ is missing: npm run build');
    const settings = { PORT: '0', PUBLIC_URL: 'http://localhost:3000', DATA_DIR: this.dataDir, ...env };
    this.child = spawn(process.execPath, ['--require', inside, main], {
      cwd: this.dataDir,
      env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: compileCache, ...settings },
      stdio: ['ignore', output, output, 'ipc'],
      serialization: 'advanced',
    });
    this.child.stdout?.on('data', (chunk: Buffer) => (this.stdout += chunk.toString()));
    this.child.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.child.on('message', (message) => this.returned(message));
    // A failing test leaves no process behind.
    const end = () => this.child.kill('SIGKILL');
    process.once('exit', end);
    processes.add(this);
    this.exit = once(this.child, 'close').then(([code]) => {
      process.off('exit', end);
      rmSync(this.dataDir, { recursive: true, force: true });
      this.agent.destroy();
      for (const { reject } of this.calls.values()) reject(new Error(`The service ended: ${this.output}`));
      return code as number | null;
    });
  }

  /** Starts the service and waits until it is ready. */
  static async start(env: Record<string, string>): Promise<ServiceProcess> {
    const service = new ServiceProcess(env);
    await service.ready().catch(async (error: unknown) => {
      await service.kill();
      throw error;
    });
    return service;
  }

  /**
   * Starts another instance of a running service, with the same settings except for its port.
   */
  static async beside(
    { config }: { config: Record<string, string> },
    env: Record<string, string> = {},
  ): Promise<ServiceProcess> {
    return ServiceProcess.start({ ...config, ADMIN_EMAIL: '', ADMIN_PASSWORD: '', PORT: '0', ...env });
  }

  /** 0 until the service listens */
  get port(): number {
    this.knownPort ||= Number(/ listens on \S+:(\d+)/.exec(this.output)?.[1] ?? 0);
    return this.knownPort;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** process id */
  get pid(): number {
    return this.child.pid as number;
  }

  /** everything that the process wrote */
  get output(): string {
    return this.stdout + this.stderr;
  }

  /** Waits until the service is ready. */
  async ready(): Promise<void> {
    await this.until(async () => (await this.get(`${this.basePath}/health/ready`)).status === 200);
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

  /**
   * Returns a provider of the service by the name of its class. Its methods run in the service.
   * For work that the service starts by itself, at intervals that a test cannot wait for.
   */
  inside<T extends object>(provider: string): Called<T> {
    return new Proxy({} as Called<T>, {
      get:
        (_, method) =>
        (...args: unknown[]) =>
          new Promise((resolve, reject) => {
            const id = ++this.called;
            this.calls.set(id, { resolve, reject });
            this.child.send({ id, provider, method: String(method), args });
          }),
    });
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

  private returned(message: unknown): void {
    const { id, value, error, code } = message as { id: number; value?: unknown; error?: Error; code?: string };
    const call = this.calls.get(id);
    this.calls.delete(id);
    if (error === undefined) call?.resolve(value);
    else call?.reject(Object.assign(error, { code }));
  }
}
