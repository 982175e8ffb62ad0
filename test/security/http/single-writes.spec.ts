import type { PoolClient } from 'pg';
import { singleWrites } from '../../../src/access/admission';
import type { Admission } from '../../../src/access/admission';
import { newId } from '../../../src/common/random';
import { password, type TestAnswer, type TestLogin, TestService } from '../../support/service';
import { until } from '../../support/until';

const many = 20;
/** Hashing many passwords takes longer than the service waits for a lock. */
const passwords = 6;

/** Sends a request of the carrier. Each request has a different number. */
type Request = (index: number) => Promise<TestAnswer>;

describe('changes that wait for locks', () => {
  let service: TestService;
  let holder: PoolClient;
  let manager: TestLogin;
  let other: TestLogin & { name: string };
  beforeAll(async () => {
    // Two places for changes, of which a carrier has one.
    service = await TestService.start({ DATABASE_POOL_MAX: '6' });
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
      await create(many);
      await holder.query('select 1 from rate_limits where key <> all($1) for update', [before?.keys ?? []]);
      return create;
    },
    'passwords of its users': async () => {
      const users: TestLogin[] = [];
      while (users.length < passwords) users.push(await service.loginAs({ carrier_id: 'north' }));
      await lockUsers();
      return (index) => {
        const body = { current_password: password, new_password: `nine ${index} harbours sing quietly` };
        return service.post('/auth/password', { token: users[index]?.token ?? '', body });
      };
    },
    'enrolments of a second factor': async () => {
      await holder.query(`select 1 from users where user_id = $1 for update`, [manager.user_id]);
      return () =>
        service.post('/auth/factor/totp/confirm', { ...manager, body: { factor_id: newId(), code: '123456' } });
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
    'leaves connections for logins, readiness and other carriers while one carrier waits: %s (D30)',
    async (kind, prepare) => {
      const count = kind.startsWith('passwords') ? passwords : many;
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
      await until(() => Promise.resolve(waiting() === count - 1));
      expect(await blocked()).toBe(1);
      await holder.query('rollback');
      expect((await sent).filter(({ status }) => status === 429 || status >= 500)).toEqual([]);
    },
  );

  it('lets a second actor wait for the place of the first actor of the carrier (D30)', async () => {
    const { user_id } = await user();
    const colleague = await service.loginAs({ carrier_id: 'north', roles: ['carrier_administrator'] });
    await lockUsers();
    const change = (token: string) => service.patch(`/user/${user_id}`, { token, body: { locale: 'it' } });
    const sent = [change(manager.token), change(colleague.token)];
    await until(async () => waiting() === 1 && (await blocked()) === 1);
    await holder.query('rollback');
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([200, 200]);
  });

  it('counts a conflict although other changes of the actor fill the queue (B25)', async () => {
    const writes = service.app.get<Admission>(singleWrites);
    const { name } = await service.createUser({ carrier_id: 'south' });
    const { user_id } = await user();
    const prober = await service.loginAs({ carrier_id: 'north', roles: ['carrier_administrator'] });
    const owner = { actor: prober.user_id, user: prober.user_id, carrier: 'north' };
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    let end: () => void = () => undefined;
    const last = new Promise<void>((resolve) => (end = resolve));
    const works = [writes.run(owner, () => gate)];
    const probe = service.patch(`/user/${user_id}`, { ...prober, body: { name } });
    await until(() => writes.waiting === 1);
    const fill = () => {
      while (writes.waiting < 100) works.push(writes.run(owner, refill));
    };
    let isFilling = true;
    const refill = async () => {
      if (isFilling) fill();
      await last;
    };
    fill();
    open();
    await until(() => writes.waiting === 101);
    isFilling = false;
    end();
    expect((await probe).body.code).toBe('user.name_taken');
    await Promise.all(works);
    const counted = await service.rows<{ hits: number }>('select max(hits)::int as hits from rate_limits');
    expect(counted[0]?.hits).toBeGreaterThan(0);
  });
});
