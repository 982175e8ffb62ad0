import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { TransactionHost } from '@nestjs-cls/transactional';
import type { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import { Client, type PoolClient } from 'pg';
import { DataSource } from 'typeorm';
import { sql } from '../../src/http/lists/sql';
import type { Config } from '../../src/platform/config/config';
import { retryingTransactions } from '../../src/platform/database/conflicts';
import { dataSourceOptions } from '../../src/platform/database/data-source';
import { Database } from '../../src/platform/database/database';
import { JobsPool } from '../../src/platform/jobs/jobs-pool';
import { query } from '../support/process/embedded-postgres-sandbox';
import { lockWaits } from '../support/locks';
import { adminEmail, password, TestService } from '../support/service';
import { until } from '../support/until';

let service: TestService;
let token: string;
let url: string;
beforeAll(async () => {
  service = await TestService.start();
  ({ token } = service.admin);
  url = service.config.DATABASE_URL;
  await service.rows('create sequence tries; create table written (tried integer)');
});
afterAll(() => service.close());

describe('requests that PostgreSQL aborts in favour of another one', () => {
  /**
   * Makes the next writes to a table fail like a conflict. A sequence counts them because it does
   * not roll back.
   */
  async function refuse(table: string, state: string, times: number): Promise<void> {
    await service.rows(`
      alter sequence tries restart;
      create or replace function refuse() returns trigger language plpgsql as $$
      begin
        if nextval('tries') <= ${times} then
          raise exception 'no' using errcode = '${state}';
        end if;
        return new;
      end $$;
      create trigger refuse before insert or update on ${table}
      for each statement execute function refuse()`);
  }

  async function allowAgain(table: string): Promise<number> {
    await service.rows(`drop trigger refuse on ${table}`);
    const [row] = await service.rows<{ last_value: string }>('select last_value from tries');
    return Number(row?.last_value);
  }

  /** Returns the types of the events that the work records. */
  async function newEvents(work: () => Promise<unknown>): Promise<string[]> {
    const eventTypes = () => service.rows<{ event_type: string }>('select event_type from events order by event_id');
    const before = (await eventTypes()).length;
    await work();
    return (await eventTypes()).slice(before).map(({ event_type }) => event_type);
  }

  const login = (secret: string) => service.post('/auth/login', { body: { login: adminEmail, password: secret } });
  const createUser = (name: string) =>
    service.post('/user/create', {
      token,
      body: { user_type: 'carrier', name, email: `${name}@example.com`, carrier_id: 'c1' },
      headers: { 'idempotency-key': name },
    });

  it('retries a request once after a deadlock (F26, B15)', async () => {
    const users = [await service.createUser({ carrier_id: 'c26' }), await service.createUser({ carrier_id: 'c26' })];
    const [first, second] = users.map(({ user_id }) => user_id).sort();
    const lock = (user_id = '') => other.query('select from users where user_id = $1 for update', [user_id]);
    const other = new Client(url);
    await other.connect();
    // PostgreSQL aborts the transaction that waited for a second. On a busy machine, this may be
    // the other transaction. The test then begins again.
    for (let attempt = 1, isOtherAborted = true; isOtherAborted; attempt++) {
      await other.query('begin');
      await lock(second);
      const change = { locale: attempt % 2 === 0 ? 'de' : 'pl' };
      let answer;
      const events = await newEvents(async () => {
        // Holds the first row and waits for the second.
        const asked = service.patch('/user/all?carrier_id=c26', { token, body: change });
        await lockWaits(service);
        isOtherAborted = await lock(first).then(
          () => false,
          () => true,
        );
        await other.query('rollback');
        answer = await asked;
      });
      expect(answer).toMatchObject({ status: 200, body: { matched: 2, changed: 2 } });
      expect(events).toEqual(['operation.accepted', 'user.changed', 'user.changed']);
    }
    await other.end();
    // The count arrives up to a second late.
    const counted = 'select from pg_stat_database where datname = current_database() and deadlocks > 0';
    await until(async () => (await query(url, counted)).length === 1);
  });

  it.each<[string, () => Promise<{ status: number }>, number, string[]]>([
    ['a login', () => login(password), 200, ['login.succeeded']],
    ['a wrong login', () => login('x'), 401, ['login.failed']],
    ['a new user', () => createUser('first'), 201, ['user.created']],
    [
      'a change of many, a transaction of calls within calls',
      () => service.patch('/user/all?carrier_id=c1', { token, body: { locale: 'de' } }),
      200,
      ['operation.accepted', 'user.changed'],
    ],
  ])('retries %s until its third attempt succeeds, once (F26)', async (_name, request, status, written) => {
    await refuse('events', '40P01', 2);
    let answer;
    const events = await newEvents(async () => (answer = await request()));
    expect(await allowAgain('events')).toBeGreaterThanOrEqual(3);
    expect(answer).toMatchObject({ status });
    expect(events).toEqual(written);
  });

  it('retries a single statement outside a transaction (F26)', async () => {
    const { refresh_token } = await service.login(adminEmail);
    await refuse('sessions', '40P01', 2);
    const answer = await service.post('/auth/check-token', { body: { refresh_token } });
    // The record of activity may have failed, too.
    expect(await allowAgain('sessions')).toBeGreaterThanOrEqual(3);
    expect(answer.status).toBe(200);
  });

  it.each([
    ['40001', 3],
    ['40P01', 3],
    ['55P03', 1],
  ])(
    'on %s gives up after %s attempts with a retry hint, changes nothing, and succeeds later (F25, F26)',
    async (state, tries) => {
      const name = `state${state.toLowerCase()}`;
      await refuse('events', state, 100);
      const refused = await createUser(name);
      expect(await allowAgain('events')).toBe(tries);
      expect(refused).toMatchObject({ status: 503, body: { code: 'service.database_unavailable' } });
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      expect(await service.rows(`select from users where name = '${name}'`)).toEqual([]);
      expect((await createUser(name)).status).toBe(201);
    },
  );
});

it('keeps work of an aborted attempt from writing into the next attempt (F26)', async () => {
  Logger.overrideLogger(false);
  const options = { ...dataSourceOptions({ url, poolMax: 2, purpose: 'requests' }), entities: [] };
  const source = await new DataSource(options).initialize();
  const { optionsFactory } = retryingTransactions('') as unknown as Record<string, (from: DataSource) => object>;
  const host = new TransactionHost<TransactionalAdapterTypeOrm>(optionsFactory?.(source) as never);
  const database = new Database(host, {} as Config, { beforeScrape: () => undefined } as never);
  let tried = 0;
  let rest: Promise<unknown> = Promise.resolve();
  let goOn = () => undefined as void;
  await host.withTransaction(async () => {
    const now = ++tried;
    if (now === 1) {
      const next = new Promise<void>((resolve) => (goOn = resolve));
      rest = next.then(() => database.run(sql`insert into written values (1)`)).catch((error: Error) => error.name);
      await database.run(sql`do $$ begin raise exception 'no' using errcode = '40001'; end $$`);
    }
    goOn();
    expect(await rest).toBe('QueryRunnerProviderAlreadyReleasedError');
    await database.run(sql`insert into written values (2)`);
  });
  expect(await service.rows('select tried from written')).toEqual([{ tried: 2 }]);
  await source.destroy();
});

describe('the pool of the jobs', () => {
  /** SQLSTATE after which the worker retries a statement. */
  const retried = '57P03';
  let pool: JobsPool;
  beforeAll(() => (pool = new JobsPool({ connectionString: url, max: 2 })));
  afterAll(() => pool.end());

  /** Uses a connection, and returns it to the pool. */
  async function using(work: (client: PoolClient) => Promise<void>): Promise<void> {
    const client = await pool.connect();
    await work(client).finally(() => client.release());
  }
  const failsWith = (code: string, failing: Promise<unknown>) => expect(failing).rejects.toMatchObject({ code });

  it('retries a statement that exceeds its time limit or waits too long for a lock, but no others (F41)', () =>
    using((holder) =>
      using(async (client) => {
        await client.query(`begin; set local statement_timeout = '10ms'`);
        await failsWith(retried, client.query('select pg_sleep(600)'));
        await client.query('rollback');
        await holder.query('begin; lock table written');
        await client.query(`begin; set local lock_timeout = '10ms'`);
        await failsWith(retried, client.query('lock table written'));
        for (const each of [holder, client]) await each.query('rollback');
        await failsWith('22012', client.query('select 1 / 0'));
      }),
    ));

  it('replaces a connection whose server is read-only, and retries (F40)', async () => {
    const pids: unknown[] = [];
    const pid = async (client: PoolClient) => pids.push((await client.query('select pg_backend_pid()')).rows[0]);
    const connections = [await pool.connect(), await pool.connect()];
    for (const client of connections) {
      await pid(client);
      await client.query('set default_transaction_read_only = on');
      await failsWith(retried, client.query('delete from written'));
      client.release();
    }
    await using(async (client) => {
      await client.query('delete from written');
      await pid(client);
    });
    expect(pids.slice(0, 2)).not.toContainEqual(pids[2]);
  });
});
