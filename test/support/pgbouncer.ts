import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { freePort } from './built-program';
import { until } from './until';

const candidates = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/opt/homebrew/bin/pgbouncer'];
/** Path of an installed PgBouncer: `apt-get install pgbouncer`. */
export const pgbouncer = candidates.find((path) => existsSync(path));

/** A real PgBouncer in transaction mode with its default settings, in front of one database. */
export class PgBouncer {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
    private readonly directory: string,
  ) {}

  static async start(databaseUrl: string): Promise<PgBouncer> {
    const target = new URL(databaseUrl);
    const port = await freePort();
    // PgBouncer does not run as root; another account must be able to read its files.
    const directory = mkdtempSync(join(tmpdir(), 'pgbouncer-'));
    chmodSync(directory, 0o755);
    const name = target.pathname.slice(1);
    const userlist = join(directory, 'userlist.txt');
    writeFileSync(userlist, `"${target.username}" "${decodeURIComponent(target.password)}"\n`);
    const settings = join(directory, 'pgbouncer.ini');
    writeFileSync(
      settings,
      `[databases]
${name} = host=${target.hostname} port=${target.port || 5432}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${userlist}
pool_mode = transaction
`,
    );
    const account = process.getuid?.() === 0 ? { uid: idOf('nobody'), gid: idOf('nobody', '-g') } : {};
    const child = spawn(pgbouncer ?? 'pgbouncer', [settings], { stdio: 'ignore', ...account });
    const url = Object.assign(new URL(databaseUrl), { hostname: '127.0.0.1', port: String(port) }).href;
    const bouncer = new PgBouncer(url, child, directory);
    process.once('exit', () => child.kill('SIGKILL'));
    await until(() => bouncer.responds());
    return bouncer;
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
    rmSync(this.directory, { recursive: true });
  }

  private async responds(): Promise<boolean> {
    const client = new Client({ connectionString: this.url });
    client.on('error', () => undefined);
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    );
  }
}

function idOf(account: string, option = '-u'): number {
  return Number(execFileSync('id', [option, account], { encoding: 'utf8' }));
}
