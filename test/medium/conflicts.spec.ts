import { TransactionHost } from '@nestjs-cls/transactional';
import { Client } from 'pg';
import { sql } from '../../src/common/query/sql';
import { Database } from '../../src/database/database';
import { query } from '../support/embedded-postgres-sandbox';
import { until } from '../support/until';
import { adminEmail, password, TestService } from '../support/service';

jest.setTimeout(60_000);

let service: TestService;
let token: string;
let other: Client;

beforeAll(async () => {
  service = await TestService.start();
  ({ token } = service.admin);
  await service.rows('create sequence tries');
  other = new Client({ connectionString: service.config.DATABASE_URL });
  await other.connect();
});
afterAll(async () => {
  await other.end();
  await service.close();
});

/**
 * Makes the next writes to a table fail like a conflict. A sequence counts them because it does not
 * roll back.
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

const eventTypes = async () =>
  (await service.rows<{ event_type: string }>('select event_type from events order by event_id')).map(
    ({ event_type }) => event_type,
  );

async function newEvents(work: () => Promise<unknown>): Promise<string[]> {
  const before = (await eventTypes()).length;
  await work();
  return (await eventTypes()).slice(before);
}

const createUser = (name: string) =>
  service.post('/user/create', {
    token,
    body: { user_type: 'carrier', name, email: `${name}@example.com`, carrier_id: 'c1' },
    headers: { 'idempotency-key': name },
  });

describe('requests that PostgreSQL aborts in favour of another one', () => {
  it('retries a request once after a deadlock (F26, B15)', async () => {
    const users = [await service.createUser({ carrier_id: 'c26' }), await service.createUser({ carrier_id: 'c26' })];
    const [first, second] = users.map(({ user_id }) => user_id).sort();
    await other.query('begin');
    await other.query('select from users where user_id = $1 for update', [second]);
    let answer;
    const events = await newEvents(async () => {
      // Holds the first row and waits for the second, with a shorter deadlock timeout than the
      // other transaction.
      const asked = service.patch('/user/all?carrier_id=c26', {
        token,
        body: { locale: 'pl' },
        headers: { 'idempotency-key': 'dead' },
      });
      const waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      await until(async () => (await query(service.config.DATABASE_URL, waiting)).length === 1);
      await other.query('select from users where user_id = $1 for update', [first]);
      await other.query('rollback');
      answer = await asked;
    });
    expect(answer).toMatchObject({ status: 200, body: { matched: 2, changed: 2 } });
    expect(events).toEqual(['operation.accepted', 'user.changed', 'user.changed']);
    // The count arrives up to a second late.
    const counted = 'select from pg_stat_database where datname = current_database() and deadlocks = 1';
    await until(async () => (await query(service.config.DATABASE_URL, counted)).length === 1);
  });

  const requests: [string, () => Promise<{ status: number }>, number, string[]][] = [
    ['a login', () => service.post('/auth/login', { body: { login: adminEmail, password } }), 200, ['login.succeeded']],
    [
      'a wrong login',
      () => service.post('/auth/login', { body: { login: adminEmail, password: 'x' } }),
      401,
      ['login.failed'],
    ],
    ['a new user', () => createUser('first'), 201, ['user.created']],
    [
      'a change of many, a transaction of calls within calls',
      () => service.patch('/user/all?carrier_id=c1', { token, body: { locale: 'de' } }),
      200,
      ['operation.accepted', 'user.changed'],
    ],
  ];

  it.each(requests)(
    'retries %s until its third attempt succeeds, once (F26)',
    async (_name, request, status, written) => {
      await refuse('events', '40P01', 2);
      let answer;
      const events = await newEvents(async () => (answer = await request()));
      expect(await allowAgain('events')).toBeGreaterThanOrEqual(3);
      expect(answer).toMatchObject({ status });
      expect(events).toEqual(written);
    },
  );

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

  it('keeps work of an aborted attempt from writing into the next attempt (F26)', async () => {
    const [host, database] = [service.app.get(TransactionHost), service.app.get(Database)];
    await service.rows('create table written (tried integer)');
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
  });
});
