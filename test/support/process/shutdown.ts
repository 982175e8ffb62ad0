import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import type { Cluster } from './cluster';
import { RawConnection, requestHead } from '../network/raw-connection';

const clients = 8;
const unfinished = 10;
const idle = 50;
const change = JSON.stringify({ first_name: 'Changed' });

/** Returns the process ids of the workers in a log that have listened, worker 1 first. */
export function workerPids(log: string): number[] {
  const lines = log.match(/^.*"Server listening at .*$/gm) ?? [];
  return lines.map((line) => Number(/"instance":"[^"]*:(\d+)"/.exec(line)?.[1]));
}

/**
 * Starts an instance, and stops it during requests, with idle connections and unfinished requests.
 * Expects that the instance completes every request, and ends all connections by itself.
 */
export async function shutDownUnderLoad(
  cluster: Cluster,
  signal: 'SIGINT' | 'SIGTERM',
  workers: number,
): Promise<void> {
  const service = await cluster.start({ WORKERS: String(workers) });
  await service.until(() => workerPids(service.output).length === workers);
  const token = await cluster.login(service);
  const users = await cluster.rows<{ user_id: string }>(`
    insert into users (user_id, user_type, name, email, carrier_id, status)
    select id, 'carrier', 'changed-' || id, id || '@example.com', 'c1', 'active'
    from (select uuid_v7() as id from generate_series(1, ${unfinished})) ids
    returning user_id`);
  const connections = await Promise.all(Array.from({ length: 2 * idle }, () => RawConnection.open(service.port)));
  const used = connections.slice(idle);
  for (const connection of used) await connection.send(requestHead('GET', '/health/live', {}));
  await service.until(() => used.every(({ answers }) => answers === 1));

  const statuses: number[] = [];
  const cut: string[] = [];
  let stopping = false;
  const load = Array.from({ length: clients }, async () => {
    try {
      for (;;) statuses.push((await service.get('/user', { token })).status);
    } catch (error) {
      const isRefused = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
      if (!stopping || !isRefused) cut.push(String(error));
    }
  });
  await service.until(() => statuses.length > 10 * clients);

  const agent = new Agent({ keepAlive: true });
  const changes = users.map(({ user_id }) =>
    request(`${service.url}/user/${user_id}`, {
      agent,
      method: 'PATCH',
      headers: {
        ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json', expect: '100-continue' },
        'content-length': change.length,
      },
    }),
  );
  await Promise.all(changes.map((call) => once(call, 'continue')));

  stopping = true;
  process.kill(service.pid, signal);
  await Promise.all([...load, ...connections.map(({ ended, closed }) => Promise.race([ended, closed]))]);
  for (const other of ['SIGINT', 'SIGTERM'] as const) process.kill(service.pid, other);
  const answers = await Promise.all(
    changes.map(async (call) => {
      call.end(change);
      const [response] = (await once(call, 'response')) as [IncomingMessage];
      response.resume();
      return [response.statusCode, response.headers.connection];
    }),
  );
  // A connection that stays open would delay the end of the process.
  expect(answers).toEqual(changes.map(() => [200, 'close']));
  expect([await service.exit, cut, new Set(statuses)]).toEqual([0, [], new Set([200])]);
  agent.destroy();
  const changed = `select from users where first_name = 'Changed' and user_id = any($1)`;
  expect(await cluster.rows(changed, [users.map(({ user_id }) => user_id)])).toHaveLength(unfinished);
  // The log contains exactly the requests that got a response.
  expect(service.output.match(/"route":"\/user"/g)).toHaveLength(statuses.length);
  expect(service.output).not.toMatch(/"level":"(error|fatal)"|unhandled/);
}
