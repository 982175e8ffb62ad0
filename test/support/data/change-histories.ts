import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { Client } from 'pg';
import { splitFirstPartition } from './event-months';
import { adminEmail, type TestAnswer, type TestService } from '../service';
import { ServiceProcess } from '../process/service-process';

/** One step of a history. Transactions are numbered by their database connection. */
type Step =
  | { kind: 'change'; connection: number; user: number }
  | { kind: 'create'; connection: number }
  | { kind: 'end'; how: 'commit' | 'rollback' | 'kill'; connection: number }
  | { kind: 'purge'; user: number; instance: number }
  | { kind: 'read'; per_page: number; instance: number }
  | { kind: 'wait'; instance: number }
  | { kind: 'copy'; instance: number }
  | { kind: 'retention' };

/** A history: its steps, and the read after which a second reader begins. */
interface History {
  steps: Step[];
  start: number;
}

const connections = 4;
const users = 3;
/** Histories between two kills of an instance, which takes seconds to start again. */
const killEvery = 50;

const connection = fc.nat(connections - 1);
const user = fc.nat(users - 1);
const instance = fc.nat(1);
const how = fc.constantFrom('commit' as const, 'commit' as const, 'rollback' as const, 'kill' as const);
const per_page = fc.integer({ min: 1, max: 4 });
/** Returns steps of a kind, which occur as often as `weight` says. */
const kind = <Kind extends Step['kind']>(weight: number, name: Kind, fields: object) => ({
  weight,
  arbitrary: fc.record({ kind: fc.constant(name), ...fields }) as unknown as fc.Arbitrary<Step>,
});
const step = fc.oneof(
  kind(12, 'change', { connection, user }),
  kind(2, 'create', { connection }),
  kind(8, 'end', { how, connection }),
  kind(8, 'read', { per_page, instance }),
  kind(2, 'wait', { instance }),
  ...[kind(1, 'copy', { instance }), kind(1, 'purge', { user, instance }), kind(1, 'retention', {})],
);
const history: fc.Arbitrary<History> = fc.record({
  steps: fc.array(step, { minLength: 5, maxLength: 40 }),
  start: fc.nat(100),
});

/**
 * Runs random histories on two instances: transactions that commit in any order, roll back, are
 * killed or stay open, purges, and the removal of old events. One instance is killed now and then.
 * A reader follows the feed, another one begins anywhere, and a third one keeps a copy of the
 * users. Fails if a reader misses a change, gets one twice or out of order, or if the copy differs
 * from the table at the end.
 */
export async function checkHistories(service: TestService, numRuns: number): Promise<void> {
  await splitFirstPartition(service.sql);
  const instances = [service, await ServiceProcess.beside(service)] as const;
  const state = { instances: [...instances], run: 0 };
  try {
    await fc.assert(
      fc.asyncProperty(history, (made) => new Replay(service, state.instances, ++state.run).check(made)),
      // A smaller history is not found reliably, because the timing differs.
      { numRuns, endOnFailure: true },
    );
  } finally {
    await state.instances[1]?.stop();
  }
}

type Change = Record<'change_id' | 'target_id', string> & { values?: { locale: string } };

/** Runs one history. Its users have a carrier of their own. */
class Replay {
  private readonly carrier: string;
  private readonly open = new Map<number, Client>();
  /** connections whose transactions changed a user, by the number of the user */
  private readonly locks = new Map<number, number>();
  private readonly ids: (string | null)[] = [];
  private readonly read: string[] = [];
  /** the cursors that were returned, each with the number of changes before it */
  private readonly cursors: { cursor: string; before: number }[] = [];
  /** a request that waits for a change */
  private waiting: Promise<TestAnswer | null> | null = null;
  private copy: { users: Map<string, string>; cursor: string } | null = null;

  constructor(
    private readonly service: TestService,
    private readonly instances: ServiceProcess[],
    private readonly run: number,
  ) {
    this.carrier = `histories-${run}`;
  }

  async check({ steps: made, start }: History): Promise<void> {
    const { service } = this;
    if (this.run % 100 === 0) service.admin = await service.login(adminEmail);
    const { body } = await service.get('/user/list?per_page=1', service.admin);
    this.cursors.push({ cursor: body.changes_cursor as string, before: 0 });
    const killAt = this.run % killEvery === killEvery - 1 ? Math.floor(made.length / 2) : -1;
    try {
      for (let user = 0; user < users; user++) this.ids.push(await this.insertUser(service.sql));
      for (const [index, one] of made.entries()) {
        if (index === killAt) await this.killInstance();
        await this.apply(one);
      }
      for (const client of this.open.values()) await client.query('commit');
      await this.insertUser(service.sql);
      await this.compare(start);
    } finally {
      await Promise.all([...this.open.values()].map((client) => client.end()));
    }
  }

  private async apply(one: Step): Promise<void> {
    if (one.kind === 'change') await this.change(one.connection, one.user);
    else if (one.kind === 'create') await this.insertUser(await this.begin(one.connection));
    else if (one.kind === 'purge') await this.purge(one.user, one.instance);
    else if (one.kind === 'read') await this.readNext(one.per_page, one.instance);
    else if (one.kind === 'wait') this.startWait(one.instance);
    else if (one.kind === 'copy') await this.startCopy(one.instance);
    else if (one.kind === 'retention') await this.removeOldEvents();
    else await this.end(one.how, one.connection);
  }

  private async change(connection: number, user: number): Promise<void> {
    const user_id = this.ids[user];
    if (user_id === null || user_id === undefined || (this.locks.get(user) ?? connection) !== connection) return;
    const client = await this.begin(connection);
    this.locks.set(user, connection);
    await client.query(
      `with changed as (
         update users
         set locale = case locale when 'de' then 'fr' else 'de' end, version = version + 1
         where user_id = $1
         returning *
       )
       insert into events (event_type, actor_type, target_type, target_id, carrier_id, target_version)
       select 'user.changed', 'system', 'user', user_id, carrier_id, version from changed`,
      [user_id],
    );
  }

  private async insertUser(client: Pick<Client, 'query'>): Promise<string> {
    const { rows } = await client.query<{ user_id: string }>(
      `with created as (
         insert into users (user_id, user_type, name, email, carrier_id, status, locale)
         select id, 'carrier', 'user-' || id, id || '@example.com', $1, 'active', 'en'
         from (select uuid_v7() as id) ids
         returning *
       ), event as (
         insert into events (event_type, actor_type, target_type, target_id, carrier_id)
         select 'user.created', 'system', 'user', user_id, carrier_id from created
       )
       select user_id from created`,
      [this.carrier],
    );
    return rows[0]!.user_id;
  }

  /** Purges a user that no open transaction has changed. */
  private async purge(user: number, instance: number): Promise<void> {
    const user_id = this.ids[user];
    if (user_id === null || user_id === undefined || this.locks.has(user)) return;
    this.ids[user] = null;
    const { status, text } = await this.instance(instance).delete(`/user/${user_id}?purge=true`, this.service.admin);
    if (status !== 204) throw new Error(`purge: ${text}`);
  }

  private async begin(connection: number): Promise<Client> {
    const known = this.open.get(connection);
    if (known !== undefined) return known;
    const client = new Client({ connectionString: this.service.config.DATABASE_URL });
    client.on('error', () => undefined);
    await client.connect();
    await client.query('begin');
    this.open.set(connection, client);
    return client;
  }

  private async end(how: 'commit' | 'rollback' | 'kill', connection: number): Promise<void> {
    const client = this.open.get(connection);
    if (client === undefined) return;
    this.open.delete(connection);
    for (const [user, holder] of this.locks) if (holder === connection) this.locks.delete(user);
    if (how === 'kill') {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      await this.service.sql.query('select pg_terminate_backend($1, 60000)', [rows[0]?.pid]);
    } else await client.query(how);
    await client.end().catch(() => undefined);
  }

  /** Removes a month of the audit log during a read. Open transactions would block the removal. */
  private async removeOldEvents(): Promise<void> {
    if (this.open.size > 0) return;
    const { service } = this;
    await service.sql.query(`
      create table if not exists events_old partition of events
      for values from ('2001-01-01') to ('2001-02-01')`);
    await service.sql.query(
      `insert into events (event_type, actor_type, target_type, target_id, carrier_id, occurred_at, tx)
       values ('user.changed', 'system', 'user', uuid_v7(), $1, '2001-01-02', '3')`,
      [this.carrier],
    );
    const removal = service.inside<{ removeOld: () => Promise<void> }>('EventPartitions').removeOld();
    // Another transaction of the service can hold the lock: the next run removes the month.
    await Promise.all([removal.catch(() => undefined), this.readNext(2, 1)]);
  }

  private async killInstance(): Promise<void> {
    this.startWait(1);
    await this.instance(1).kill();
    this.instances[1] = await ServiceProcess.beside(this.service);
  }

  private startWait(instance: number): void {
    this.waiting ??= this.request(instance, 'per_page=4&wait=30').catch(() => null);
  }

  /** Reads the next page. Skips the read while a request waits. */
  private async readNext(per_page: number, instance: number): Promise<void> {
    const { waiting } = this;
    if (waiting === null) return this.note(await this.request(instance, `per_page=${per_page}`));
    const answer = await Promise.race([waiting, new Promise<'none'>((done) => setImmediate(done, 'none'))]);
    if (answer === 'none') return;
    this.waiting = null;
    if (answer !== null) this.note(answer);
  }

  private request(instance: number, query: string): Promise<TestAnswer> {
    const { cursor } = this.cursors.at(-1)!;
    return this.instance(instance).get(
      `/change/list?carrier_id=${this.carrier}&${query}&after=${cursor}`,
      this.service.admin,
    );
  }

  private note({ status, body, text }: TestAnswer): void {
    if (status !== 200) throw new Error(`change list: ${text}`);
    this.read.push(...(body.items as Change[]).map(({ change_id }) => change_id));
    this.cursors.push({ cursor: body.next_cursor as string, before: this.read.length });
  }

  private async startCopy(instance: number): Promise<void> {
    this.copy ??= await this.list(instance);
  }

  private async list(instance: number): Promise<{ users: Map<string, string>; cursor: string }> {
    const query = `/user/list?per_page=500&carrier_id=${this.carrier}`;
    const { body } = await this.instance(instance).get(query, this.service.admin);
    const items = body.items as { user_id: string; locale: string }[];
    return {
      users: new Map(items.map(({ user_id, locale }) => [user_id, locale])),
      cursor: body.changes_cursor as string,
    };
  }

  private async compare(start: number): Promise<void> {
    const committed = (
      await this.service.rows<{ event_id: string }>(
        `select event_id from events where carrier_id = $1 and occurred_at > '2002-01-01' order by tx, event_id`,
        [this.carrier],
      )
    ).map(({ event_id }) => event_id);
    const ended = await this.waiting;
    if (ended !== null) this.note(ended);
    // Transactions of the service can hold changes back.
    let count = -1;
    while (count < this.read.length && this.read.length < committed.length) {
      count = this.read.length;
      this.note(await this.request(0, 'wait=5'));
    }
    this.note(await this.request(1, 'per_page=100'));
    assertSame('the reader', this.read, committed);
    const { cursor, before } = this.cursors[start % this.cursors.length]!;
    const later = (await this.readFrom(cursor, 'per_page=2')).map(({ change_id }) => change_id);
    assertSame('the reader from anywhere', later, committed.slice(before));
    if (this.copy === null) return;
    for (const { target_id, values } of await this.readFrom(this.copy.cursor, 'per_page=100&include=values'))
      if (values === undefined) this.copy.users.delete(target_id);
      else this.copy.users.set(target_id, values.locale);
    const table = (await this.list(0)).users;
    const sorted = (map: Map<string, string>) => [...map].sort();
    assertSame('the copy', sorted(this.copy.users), sorted(table));
  }

  private async readFrom(cursor: string, query: string): Promise<Change[]> {
    const changes: Change[] = [];
    for (let after = cursor; ;) {
      const path = `/change/list?carrier_id=${this.carrier}&${query}&after=${after}`;
      const { body } = await this.service.get(path, this.service.admin);
      changes.push(...(body.items as Change[]));
      if ((body.items as Change[]).length === 0) return changes;
      after = body.next_cursor as string;
    }
  }

  private instance(index: number): ServiceProcess {
    return this.instances[index]!;
  }
}

function assertSame(what: string, actual: unknown[], expected: unknown[]): void {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new Error(`${what}: ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`);
}
