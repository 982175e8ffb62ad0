import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The built service in a separate process. */
export interface ServiceProcess {
  /** URL of the service */
  url: string;
  pid: number;
  /** output so far, of both streams */
  output(): string;
  /**
   * Sends a signal (SIGTERM by default) and waits for the end. Returns the exit code, or null after
   * a signal killed the process.
   */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** kill -9 */
  kill(): Promise<void>;
}

/** The exit code and output of a program. */
export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A started program, and its output so far. */
interface Spawned {
  child: ChildProcess;
  output: () => string;
}

const root = join(__dirname, '../../..');
/** Far longer than a start takes on a busy machine. */
const hangsAfterMs = 240_000;

/**
 * Waits until a started service listens on a port.
 * @throws with the output if the service ends or does not listen within 240 s
 */
export async function whenListening({ child, output }: Spawned, port: string): Promise<ServiceProcess> {
  const ended = once(child, 'exit').then(() => child.exitCode);
  await new Promise<void>((listens, fail) => {
    const late = setTimeout(() => fail(new Error(`The service does not listen:\n${output()}`)), hangsAfterMs);
    const check = () => {
      if (!/carrier-identity \S+ listens on /.test(output())) return;
      clearTimeout(late);
      listens();
    };
    void ended.then((code) => fail(new Error(`The service ended with status ${code}:\n${output()}`)));
    child.stdout?.on('data', check);
    check();
  }).catch((error: Error) => {
    child.kill('SIGKILL');
    throw error;
  });
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return ended;
  };
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid!,
    output,
    stop: (signal = 'SIGTERM') => end(signal),
    kill: async () => void (await end('SIGKILL')),
  };
}

/** Runs a built program below dist/. After 240 s it is killed, and its code is null. */
export async function runBuilt(program: string, env: Record<string, string>, args: string[] = []): Promise<Ended> {
  const { child } = spawnBuilt(program, env, args);
  const ended: Ended = { code: null, stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk) => (ended.stdout += chunk));
  child.stderr?.on('data', (chunk) => (ended.stderr += chunk));
  const late = setTimeout(() => child.kill('SIGKILL'), hangsAfterMs);
  [ended.code] = (await once(child, 'close')) as [number | null];
  clearTimeout(late);
  return ended;
}

let portsTried = 0;

/**
 * Returns an unused port of 127.0.0.1 at or after `first`. It lies below the ephemeral ports
 * (Linux: from 32,768), which any connection could take before the service listens.
 */
export async function freePort(first = 10_000 + (process.pid % 200) * 100): Promise<number> {
  for (;;) {
    const port = first + portsTried++;
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    await new Promise((done) => server.close(done));
    return port;
  }
}

/** Starts a built program below dist/ without supervision. */
export function spawnBuilt(program: string, env: Record<string, string>, args: string[] = []): Spawned {
  const path = join(root, 'dist', program);
  if (!existsSync(path)) throw new Error(`${path} is missing: run \`npm run build\` before this test.`);
  // Outside the repository, where a .env file of a developer may exist.
  const child = spawn(process.execPath, [path, ...args], { cwd: tmpdir(), env: { PATH: process.env['PATH'], ...env } });
  let written = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (written += chunk));
  return { child, output: () => written };
}
