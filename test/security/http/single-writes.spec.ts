import type { PoolClient } from 'pg';
import { singleWrites } from '../../../src/access/admission';
import type { Admission } from '../../../src/access/admission';
import { OperationRunner } from '../../../src/operations/operation-runner.service';
import { addManyUsers, ended } from '../../support/many-users';
import { password, type TestAnswer, type TestLogin, TestService } from '../../support/service';
import { until } from '../../support/until';

const count = 20;

/** Sends a request of the carrier, with a number of its own. */
type Request = (index: number) => Promise<TestAnswer>;

describe('with four connections, changes that wait for locks', () => {
  let service: TestService;
  let holder: PoolClient;
  let manager: TestLogin;
  let other: TestLogin & { name: string };
  beforeAll(async () => {
    // Two connections for long work, and two for everything else.
    service = await TestService.start({ DATABASE_POOL_MAX: '4' });
    manager = await service.loginAs({ carrier_id: 'north', roles: ['carrier_administrator'] });
    other = await service.loginAs({ carrier_id: 'south', roles: ['carrier_administrator'] });
    holder = await service.sql.connect();
  });
  afterAll(async () => {
    holder.release();
    await service.close();
  });
  beforeEach(() => holder.query('begin'));
  afterEach(() => holder.query('rollback'));

  const waiting = (): number => service.app.get<Admission>(singleWrites).waiting;
  const blocked = async (): Promise<number> => {
    const { rows } = await service.sql.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows[0]?.count ?? 0;
  };
  const lockUsers = () => holder.query(`select 1 from users where carrier_id = 'north' for update`);
  const user = () => service.createUser({ carrier_id: 'north' });

  const kinds: Record<string, () => Promise<Request>> = {
    'changes of users': async () => {
      const { user_id } = await user();
      await lockUsers();
      return () => service.patch(`/user/${user_id}`, { ...manager, body: { locale: 'fr' } });
    },
    'deletions of users': async () => {
      const { user_id } = await user();
      await lockUsers();
      return () => service.delete(`/user/${user_id}`, manager);
    },
    'unlocks of users': async () => {
      const { user_id } = await user();
      await lockUsers();
      return () => service.post(`/user/${user_id}/unlock`, manager);
    },
    'new users with a name that an import creates': async () => {
      await holder.query(
        `insert into users (user_id, user_type, carrier_id, name, email, status)
         values (gen_random_uuid(), 'carrier', 'north', 'imported', 'imported@example.com', 'invited')`,
      );
      const body = { user_type: 'carrier', carrier_id: 'north', name: 'imported' };
      return (index) =>
        service.post('/user/create', { ...manager, body: { ...body, email: `imported${index}@example.com` } });
    },
    'conflicts whose counter an import holds': async () => {
      const { name } = await service.createUser({ carrier_id: 'south' });
      const create = (index: number) => {
        const body = { user_type: 'carrier', carrier_id: 'north', name, email: `conflict${index}@example.com` };
        return service.post('/user/create', { ...manager, body });
      };
      const keys = `select array_agg(key) as keys from rate_limits`;
      const [before] = await service.rows<{ keys: Buffer[] }>(keys);
      await create(count);
      await holder.query('select 1 from rate_limits where key <> all($1) for update', [before?.keys ?? []]);
      return create;
    },
    'cancels of an operation': async () => {
      const [row] = await service.rows<{ operation_id: string }>(
        `insert into operations (operation_id, kind, permission, status, actor_type, actor_id, request)
         values (gen_random_uuid(), 'change', 'user:update', 'running', 'user', $1, '{}')
         returning operation_id`,
        [manager.user_id],
      );
      await holder.query('select pg_advisory_xact_lock(hashtextextended($1::text, 0))', [row?.operation_id]);
      return () => service.post(`/user/operation/${row?.operation_id}/cancel`, manager);
    },
  };

  it.each(Object.entries(kinds))(
    'of one carrier leave connections for logins, readiness and the changes of others: %s (D30)',
    async (_kind, prepare) => {
      const request = await prepare();
      const sent = Promise.all(Array.from({ length: count }, (_, index) => request(index)));
      await until(async () => (await blocked()) > 0);
      const login = await service.post('/auth/login', { body: { login: other.name, password } });
      const answers = [
        login,
        await service.get('/health/ready'),
        await service.patch(`/user/${other.user_id}`, { ...other, body: { locale: 'de' } }),
        await service.post('/auth/check-token', { body: { token: login.body.access_token } }),
      ];
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      expect(await blocked()).toBe(1);
      expect(waiting()).toBe(count - 1);
      await holder.query('rollback');
      expect((await sent).filter(({ status }) => status === 429 || status >= 500)).toEqual([]);
    },
  );

  it('of a second actor wait for the place of the first actor of the carrier (D30)', async () => {
    const { user_id } = await user();
    const colleague = await service.loginAs({ carrier_id: 'north', roles: ['carrier_administrator'] });
    await lockUsers();
    const change = (token: string) => service.patch(`/user/${user_id}`, { token, body: { locale: 'it' } });
    const sent = [change(manager.token), change(colleague.token)];
    await until(async () => waiting() === 1 && (await blocked()) === 1);
    await holder.query('rollback');
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([200, 200]);
  });

  it('and batches of operations pass their turn on while their carrier has no place (D30, B31)', async () => {
    await addManyUsers(service, 10_001, 'turns');
    const change = await service.patch('/user/all?carrier_id=turns', { ...service.admin, body: { locale: 'fr' } });
    const { operation_id } = await ended(service, change.body.operation_id);
    const attacker = await service.loginAs({ carrier_id: 'turns', roles: ['carrier_administrator'] });
    // Holds the one place that a carrier may have.
    await holder.query('lock table login_counts in access exclusive mode');
    const held = Promise.all(Array.from({ length: 5 }, () => service.get('/stats/overview', attacker)));
    await until(async () => (await blocked()) === 1);
    const accept = async (actor_id: string, name: string) => {
      const [copy] = await service.rows<{ operation_id: string }>(
        `insert into operations
         select (jsonb_populate_record(operations, jsonb_build_object(
           'operation_id', uuid_v7(), 'actor_id', $2::text, 'status', 'waiting', 'finished_at', null,
           'started_at', null,
           'processed', 0, 'changed', 0, 'total', 1, 'progressed_at', now() - interval '1 minute'
         ))).*
         from operations
         where operation_id = $1
         returning operation_id`,
        [operation_id, actor_id],
      );
      await service.rows(
        `insert into operation_batches (operation_id, number, user_ids)
         select $1, 0, array[user_id] from users where name = $2`,
        [copy?.operation_id, name],
      );
      return copy?.operation_id ?? '';
    };
    // With four connections, a process has one turn.
    const own = await accept(attacker.user_id, 'turns-1');
    const next = await accept(service.admin.user_id, 'turns-3');
    await service.app.get(OperationRunner).passOn('change');
    expect((await ended(service, next)).status).toBe('done');
    const unfinished = 'select 1 from operations where finished_at is null';
    expect(await service.rows(unfinished)).toHaveLength(1);
    await holder.query('rollback');
    await held;
    expect((await ended(service, own)).status).toBe('done');
  });
});
