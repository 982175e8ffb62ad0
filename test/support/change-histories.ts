import fc from 'fast-check';
import { Client } from 'pg';
import type { ServiceProcess } from './service-process';
import type { TestService } from './service';
import { until } from './until';

/** One step of a history, by one of several database connections. */
type Step =
  | { kind: 'change' | 'commit' | 'rollback' | 'kill'; connection: number }
  | { kind: 'read'; per_page: number; instance: number };

const connections = 4;
const carrier = 'histories';

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('change' as const), connection: fc.nat(connections - 1) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'commit' as const,
        'commit' as const,
        'commit' as const,
        'rollback' as const,
        'kill' as const,
      ),
      connection: fc.nat(connections - 1),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      per_page: fc.integer({ min: 1, max: 4 }),
      instance: fc.nat(1),
    }),
  },
);

/**
 * Runs random histories of transactions that commit in any order, roll back, or are killed, while a
 * reader follows the feed on two instances. Fails if the reader misses a change, gets one twice, or
 * gets them in another order than that of the transactions.
 */
export async function checkHistories(service: TestService, other: ServiceProcess, numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) => replay(service, other, steps)),
    { numRuns },
  );
}

async function replay(service: TestService, other: ServiceProcess, steps: Step[]): Promise<void> {
  const open = new Map<number, Client>();
  const read: string[] = [];
  let cursor = await endOf(service);
  const next = async (per_page: number, instance: number) => {
    const reader = instance === 0 ? service : other;
    const { body } = await reader.get(
      `/change/list?carrier_id=${carrier}&per_page=${per_page}&after=${cursor}`,
      service.admin,
    );
    read.push(...(body.items as { change_id: string }[]).map(({ change_id }) => change_id));
    cursor = body.next_cursor as string;
  };
  try {
    const [{ tx = '0' } = {}] = await service.rows<{ tx: string }>(`
      select pg_snapshot_xmin(pg_current_snapshot())::text as tx`);
    for (const made of steps) {
      if (made.kind === 'read') await next(made.per_page, made.instance);
      else await apply(service, open, made);
    }
    for (const client of open.values()) await client.query('commit');
    const committed = (
      await service.rows<{ event_id: string }>(
        `select event_id from events where carrier_id = $1 and tx >= $2::xid8 order by tx, event_id`,
        [carrier, tx],
      )
    ).map(({ event_id }) => event_id);
    // Transactions of other tests can hold changes back.
    await until(async () => {
      await next(100, 0);
      return read.length >= committed.length;
    });
    await next(100, 1);
    if (read.join() !== committed.join()) throw new Error(`read ${read.join()}, committed ${committed.join()}`);
  } finally {
    await Promise.all([...open.values()].map((client) => client.end()));
  }
}

/** Returns the cursor of the end of the feed. */
async function endOf(service: TestService): Promise<string> {
  let after = '';
  for (;;) {
    const { body } = await service.get(`/change/list?per_page=1000${after}`, service.admin);
    after = `&after=${String(body.next_cursor)}`;
    if ((body.items as unknown[]).length === 0) return body.next_cursor as string;
  }
}

async function apply(
  service: TestService,
  open: Map<number, Client>,
  { kind, connection }: Exclude<Step, { kind: 'read' }>,
): Promise<void> {
  const known = open.get(connection);
  if (kind === 'change') {
    const client = known ?? (await begin(service));
    open.set(connection, client);
    await client.query(`
      insert into events (event_type, actor_type, target_type, target_id, carrier_id)
      values ('user.changed', 'system', 'user', uuid_v7(), '${carrier}')`);
    return;
  }
  if (known === undefined) return;
  open.delete(connection);
  if (kind === 'kill') {
    const [row] = (await known.query<{ pid: number }>('select pg_backend_pid() as pid')).rows;
    await service.sql.query('select pg_terminate_backend($1, 60000)', [row?.pid]);
  } else await known.query(kind);
  await known.end().catch(() => undefined);
}

async function begin(service: TestService): Promise<Client> {
  const client = new Client({ connectionString: service.config.DATABASE_URL });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('begin');
  return client;
}
