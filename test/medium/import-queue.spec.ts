import { Client } from 'pg';
import { type TestAnswer, TestService } from '../support/service';
import { until } from '../support/until';

describe('imports beside each other', () => {
  let service: TestService;
  let gate: Client;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(`create function wait_at_gate() returns trigger language plpgsql set lock_timeout = 0
      as $$ begin if new.name like '%-slow' then perform pg_advisory_xact_lock(77); end if; return new; end $$`);
    await service.rows('create trigger gate before insert on users for each row execute function wait_at_gate()');
  });
  beforeEach(async () => {
    gate = new Client(service.config.DATABASE_URL);
    await gate.connect();
    await gate.query('begin; select pg_advisory_xact_lock(77)');
  });
  afterEach(() => gate.end());
  afterAll(() => service.close());

  const send = (prefix: string, count: number): Promise<TestAnswer> => {
    const name = (i: number) => (i === 0 ? `${prefix}-slow` : `${prefix}-${i}`);
    const rows = Array.from({ length: count }, (_, i) => `carrier,${name(i)},${name(i)}@example.com,c1`);
    const body = ['user_type,name,email,carrier_id', ...rows].join('\n');
    return service.post('/user/import', { ...service.admin, body, headers: { 'content-type': 'text/csv' } });
  };
  const waiting = async (count: number) => {
    const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return (await service.rows(waits)).length === count;
  };

  it('responds to a small file when it is done, even if another worker processes a part of it', async () => {
    const other = new Client(service.config.DATABASE_URL);
    await other.connect();
    try {
      const answer = send('turns', 1_500);
      await until(() => waiting(1));
      await other.query('begin');
      const turn = other.query('select 1 from operations where finished_at is null for update');
      await until(() => waiting(2));
      await gate.query('commit');
      await turn;
      await Promise.race([answer, until(() => waiting(1))]);
      await other.query('commit');
      const { status, body } = await answer;
      expect([status, body.changed]).toEqual([200, 1_500]);
    } finally {
      await other.end();
    }
  });

  it('runs the next accepted file beside a small one, without waiting for the sweep', async () => {
    const few = send('few', 1);
    await until(() => waiting(1));
    const rows = Array.from({ length: 10_001 }, (_, i) => `carrier,many-${i},many-${i}@example.com,c1`);
    const body = ['user_type,name,email,carrier_id', ...rows].join('\n');
    const many = await service.post('/user/import', {
      ...service.admin,
      body,
      headers: { 'content-type': 'text/csv' },
    });
    const { operation_id } = many.body;
    expect(many.status).toBe(202);
    // The sweep would find the operation after five seconds.
    await service.rows(`update operations set progressed_at = now() + interval '1 hour' where operation_id = $1`, [
      operation_id,
    ]);
    const operation = async () => (await service.get(`/user/operation/${operation_id}`, service.admin)).body;
    await until(async () => (await operation()).processed > 0);
    await gate.query('commit');
    expect((await few).status).toBe(200);
    await until(async () => (await operation()).status === 'done', 60_000);
  });

  it('creates the rows of another actor while a batch of the first actor takes long (B31)', async () => {
    const other = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    const upload = async (prefix: string, by: { token: string }, first: string) => {
      const name = (i: number) => (i === 0 ? first : `${prefix}-${i}`);
      const rows = Array.from({ length: 10_001 }, (_, i) => `carrier,${name(i)},${name(i)}@example.com,c1`);
      const body = ['user_type,name,email,carrier_id', ...rows].join('\n');
      const answer = await service.post('/user/import', { ...by, body, headers: { 'content-type': 'text/csv' } });
      expect(answer.status).toBe(202);
      return async () => (await service.get(`/user/operation/${answer.body.operation_id}`, by)).body;
    };
    const held = await upload('held', service.admin, 'held-slow');
    await until(() => waiting(1));
    const free = await upload('free', other, 'free-0');
    await until(async () => (await free()).finished_at !== null, 60_000);
    expect(await free()).toMatchObject({ status: 'done', changed: 10_001 });
    expect(await held()).toMatchObject({ finished_at: null, processed: 0 });
    await gate.query('commit');
    await until(async () => (await held()).finished_at !== null, 60_000);
    expect(await held()).toMatchObject({ status: 'done', changed: 10_001 });
  });

  it('continues as an operation and rejects no row while users cannot be created', async () => {
    await service.rows(`create function not_now() returns trigger language plpgsql
      as $$ begin raise exception 'not now' using errcode = 'lock_not_available'; end $$`);
    await service.rows('create trigger a_fault before insert on users for each row execute function not_now()');
    const { status, body } = await send('fault', 2);
    expect([status, body.kind, body.finished_at]).toEqual([202, 'import', null]);
    await service.rows('drop function not_now cascade');
    await gate.query('commit');
    const operation = async () => (await service.get(`/user/operation/${body.operation_id}`, service.admin)).body;
    await until(async () => (await operation()).finished_at !== null);
    expect(await operation()).toMatchObject({ status: 'done', changed: 2, skipped_count: 0 });
  });
});
