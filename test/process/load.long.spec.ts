import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { createWorld, ordinaryWork, type Stream, watchMemory, type World } from '../../bench/neighbour-world';
import { Cluster } from '../support/process/cluster';
import { appSecret } from '../support/service';
import { shutDownUnderLoad } from '../support/process/shutdown';
import { until } from '../support/until';
import type { ServiceProcess } from '../support/process/service-process';

/** Result of a stream (see paced-load.js). */
interface Sent {
  requests: number;
  statuses: Record<string, number>;
  requestsLeft: object[];
}

const seconds = 2;
/**
 * Attacks of neighbour-attacks.js. Each ends after `seconds`, or after `count` requests.
 * The operation of the last one outlives it.
 */
const attacks = {
  ...{ escapes: 400, previews: 60, 'deep lists': 200, statements: 300, 'unread exports': 4, 'poison bulk': 1 },
};
/** Head start of an attack. */
const aheadMs = 500;
/** Maximum growth of the service, and of the private memory of the database processes for it. */
const growthMaxMiB = { service: 300, database: 64 };
/** Operations of the neighbour that run in the background. */
const unfinished = `
  select 1
  from operations
  where finished_at is null
    and actor_id = (select user_id from users where name = 'neighbour.manager')`;

describe('a hostile neighbour', () => {
  let cluster: Cluster;
  let service: ServiceProcess;
  let sql: Client;
  let world: World;
  let load: ChildProcess;
  let attacker: ChildProcess;
  let chain: object[];

  beforeAll(async () => {
    cluster = await Cluster.create();
    sql = new Client({ connectionString: cluster.databaseUrl });
    await sql.connect();
    const environment = {
      ...{ DATABASE_URL: cluster.databaseUrl, APP_SECRET: appSecret, PUBLIC_URL: 'http://localhost:3000' },
      ...{ DATA_DIR: tmpdir(), ACCESS_TOKEN_TTL_SECONDS: '3600' },
    };
    const size = { attackers: 10_300, neighbours: 15_000, pinned: false };
    world = await createWorld(sql, environment, { ...size, seconds: seconds * (Object.keys(attacks).length + 1) });
    // Roles that SQL inserts must exist before the service starts.
    service = await cluster.start({
      ...{ LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '30', REQUESTS_PER_ADDRESS_PER_MINUTE: '600' },
      DATABASE_POOL_MAX: '4',
    });
    load = fork(join(__dirname, '../../bench/paced-load.js'));
    attacker = fork(join(__dirname, '../../bench/neighbour-attacks.js'));
    await work('warm');
  });
  afterAll(async () => {
    for (const child of [load, attacker]) child.kill('SIGKILL');
    await sql.end();
    await cluster.close();
  });

  const ask = async <Answer>(child: ChildProcess, command: string, argument = {}): Promise<Answer> => {
    child.send({ command, argument });
    const [{ answer, error }] = (await once(child, 'message')) as [{ answer: Answer; error?: string }];
    if (error !== undefined) throw new Error(error);
    return answer;
  };
  /** Sends the ordinary work. Returns the responses that are not a success, by kind and status. */
  const work = async (tag: string) => {
    // A new token is sent once, and a chain continues with the token of its last response.
    const fresh = tag === 'warm' ? [] : world.fresh.splice(0, 5 * seconds + 1);
    const streams = ordinaryWork({ ...world, fresh }, seconds, tag);
    const continued = (stream: Stream) =>
      stream.name === 'refresh' && tag !== 'warm' && chain !== undefined ? { ...stream, requests: chain } : stream;
    const sent = await ask<Sent[]>(load, 'run', { url: service.url, seconds, streams: streams.map(continued) });
    if (tag !== 'warm') chain = sent[streams.findIndex(({ name }) => name === 'refresh')]?.requestsLeft ?? [];
    const all = streams.map(({ name }, index) => ({ name, ...(sent[index] as Sent) }));
    expect(all.filter(({ requests }) => requests === 0)).toEqual([]);
    return all.flatMap(({ name, statuses }) =>
      Object.entries(statuses).flatMap(([status, times]) =>
        status.startsWith('2') ? [] : [`${name}: ${status}×${times}`],
      ),
    );
  };

  it.each(Object.entries(attacks))(
    'rejects no ordinary request of another carrier during the attack "%s" (F8)',
    async (name, count) => {
      const child = { pid: service.pid, exitCode: null };
      const takeGrowth = await watchMemory(child, sql, new URL(cluster.databaseUrl).pathname.slice(1));
      const job = { name, world, url: service.url, seconds, aheadMs, count };
      await ask(attacker, 'start', job);
      const refused = await work(name.replace(' ', '-'));
      // The attack ran: its requests got a response, are waiting, or hold their connections.
      expect(Object.keys(await ask<object>(attacker, 'stop'))).not.toEqual([]);
      const growth = await takeGrowth();
      expect(refused).toEqual([]);
      expect(growth.service).toBeLessThan(growthMaxMiB.service);
      expect(growth.database).toBeLessThan(growthMaxMiB.database);
      await until(async () => (await cluster.rows(unfinished)).length === 0);
    },
  );
});

describe('20 shutdowns', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.create();
  });
  afterAll(() => cluster.close());

  it.each([
    ['SIGINT', 1],
    ['SIGTERM', 2],
  ] as const)('drop no request: %s, %i workers (F17)', async (signal, workers) => {
    for (let round = 0; round < 10; round++) await shutDownUnderLoad(cluster, signal, workers);
  });
});
