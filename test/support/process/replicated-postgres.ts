import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync } from 'node:fs';
import { appendFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../../src/platform/embedded-postgres/embedded-postgres';
import { PASSWORD_FILE } from '../../../src/platform/embedded-postgres/postgres-cluster';
import { query } from './embedded-postgres-sandbox';
import { until } from '../until';

const settings = {
  ...{ fsync: 'off', full_page_writes: 'off', shared_buffers: '32MB' },
  listen_addresses: '127.0.0.1,127.0.0.2',
};

/** A primary and its synchronous standby, two real servers. */
export class ReplicatedPostgres {
  private constructor(
    private readonly home: string,
    private readonly primaryServer: EmbeddedPostgres,
    private readonly standbyServer: EmbeddedPostgres,
  ) {}

  static async start(): Promise<ReplicatedPostgres> {
    const home = makeHome('replicated');
    const [primaryDir, standbyDir] = [join(home, 'primary'), join(home, 'standby')];
    await (await startEmbeddedPostgres(primaryDir, { settings })).stop();
    // A cold copy keeps the owner of the files, who is not the account of the tests.
    execFileSync('cp', ['-a', primaryDir, standbyDir]);
    const primary = await startEmbeddedPostgres(primaryDir, { settings });
    const standbyCluster = join(standbyDir, 'postgres');
    await writeFile(join(standbyCluster, 'standby.signal'), '');
    const { hostname, port } = new URL(primary.url);
    const password = passwordOf(primary);
    await appendFile(
      join(standbyCluster, 'postgresql.auto.conf'),
      `primary_conninfo = 'host=${hostname} port=${port} user=postgres password=${password}'\n`,
    );
    const standby = await startEmbeddedPostgres(standbyDir, { settings });
    const servers = new ReplicatedPostgres(home, primary, standby);
    await servers.waitFor('*');
    await until(async () => (await servers.onPrimary(synchronous)).length === 1);
    return servers;
  }

  /** Starts a standby of another primary. */
  static async startForeign(): Promise<{ url: string; stop: () => Promise<void> }> {
    const home = makeHome('foreign');
    await (await startEmbeddedPostgres(home, { settings })).stop();
    await writeFile(join(home, 'postgres', 'standby.signal'), '');
    const server = await startEmbeddedPostgres(home, { settings });
    return { url: server.url, stop: () => server.stop().finally(() => removeHome(home)) };
  }

  /** URL of the service's database on the first primary. */
  get primary(): string {
    return this.primaryServer.url;
  }

  /** URL of the service's database on the standby, which `promote` makes the second primary. */
  get standby(): string {
    return this.standbyServer.url;
  }

  /** Runs a statement as superuser on the first primary. */
  onPrimary(sql: string): Promise<Record<string, unknown>[]> {
    return query(asSuperuser(this.primaryServer), sql);
  }

  /** Runs a statement as superuser on the standby. */
  onStandby(sql: string): Promise<Record<string, unknown>[]> {
    return query(asSuperuser(this.standbyServer), sql);
  }

  /** Sets which standbys the first primary waits for: `*` for any, or the name of one. */
  async waitFor(standbys: string): Promise<void> {
    await this.onPrimary(`alter system set synchronous_standby_names = '${standbys}'`);
    await this.onPrimary('select pg_reload_conf()');
  }

  /** Promotes the standby. The first primary keeps running, and its commits wait forever. */
  async promote(): Promise<void> {
    await query(asSuperuser(this.standbyServer), 'select pg_promote()');
  }

  async stop(): Promise<void> {
    // The first primary waits for its standby when it stops, unless it needs none.
    await this.waitFor('');
    await Promise.all([this.primaryServer.stop(), this.standbyServer.stop()]);
    await removeHome(this.home);
  }
}

const synchronous = `select 1 from pg_stat_replication where sync_state = 'sync'`;

/** Makes a folder that the account of the servers can enter. */
function makeHome(name: string): string {
  const home = mkdtempSync(join(tmpdir(), `carrier-identity-${name}-`));
  chmodSync(home, 0o755);
  return home;
}

function removeHome(home: string): Promise<void> {
  return rm(home, { recursive: true, force: true, maxRetries: 5 });
}

function passwordOf({ directory }: EmbeddedPostgres): string {
  return readFileSync(join(directory, PASSWORD_FILE), 'utf8');
}

/** Returns the URL of the superuser of an embedded server. */
export function asSuperuser(server: EmbeddedPostgres): string {
  const url = new URL(server.url);
  [url.username, url.password] = ['postgres', passwordOf(server)];
  return url.href;
}
