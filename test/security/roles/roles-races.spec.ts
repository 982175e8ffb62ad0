import type { PoolClient } from 'pg';
import { advisoryLocks } from '../../../src/platform/advisory-locks';
import { rolesLockWait } from '../../../src/access/roles/roles.repository';
import { type TestAnswer, type TestLogin, TestService } from '../../support/service';
import { until } from '../../support/until';

type Login = TestLogin & { name: string };

const rounds = 14;
/** The lock that is shared to grant roles and exclusive to change one. */
const rolesLock = advisoryLocks.roles;

describe('roles that are granted and changed at the same time', () => {
  let service: TestService;
  let token: string;
  beforeAll(async () => {
    // A busy machine must not end a wait with 503.
    rolesLockWait.ms = 10_000;
    service = await TestService.start();
    ({ token } = service.admin);
  });
  afterAll(() => service.close());

  let count = 0;
  const newRole = async (user_types = ['system', 'carrier'], permissions: string[] = []): Promise<string> => {
    const name = `race-${++count}`;
    expect((await service.post('/role/create', { token, body: { name, user_types, permissions } })).status).toBe(201);
    return name;
  };
  const newUser = (role: string, how: string) => ({
    user_type: 'carrier',
    carrier_id: 'c1',
    name: `${how}-${role}`,
    email: `${how}-${role}@example.com`,
    roles: [role],
  });
  /** Returns active users who have a deleted role or one that is closed to them. */
  const impossible = () =>
    service.rows(`select users.name, role from users, unnest(users.roles) role where deleted_at is null
      and not exists (select 1 from roles where roles.name = role and users.user_type = any(roles.user_types))`);

  /** Ways to get a role. Each prepares the data and returns the request to race. */
  const ways: Record<string, (role: string) => Promise<() => Promise<TestAnswer>>> = {
    'creating a user': (role) =>
      Promise.resolve(() => service.post('/user/create', { token, body: newUser(role, 'created') })),
    'changing a user': async (role) => {
      const { user_id } = await service.createUser();
      return () => service.patch(`/user/${user_id}`, { token, body: { roles: [role] } });
    },
    'changing found users': async (role) => {
      const { user_id } = await service.createUser();
      return () => service.patch(`/user/all?user_id=${user_id}`, { token, body: { roles_add: [role] } });
    },
    'importing a user': (role) => {
      const headers = { 'content-type': 'application/x-ndjson' };
      return Promise.resolve(() =>
        service.post('/user/import', { token, body: JSON.stringify(newUser(role, 'imported')), headers }),
      );
    },
    'restoring a user': async (role) => {
      const { user_id } = await service.createUser({ roles: [role] });
      await service.delete(`/user/${user_id}`, { token });
      return () => service.post(`/user/${user_id}/restore`, { token });
    },
    'undoing a deletion': async (role) => {
      const { user_id } = await service.createUser({ roles: [role] });
      const { operation_id } = (await service.delete(`/user/all?user_id=${user_id}`, { token })).body;
      return () => service.post(`/user/operation/${operation_id}/undo`, { token });
    },
    'undoing a change': async (role) => {
      const { user_id } = await service.createUser({ roles: [role] });
      const { operation_id } = (await service.patch(`/user/all?user_id=${user_id}`, { token, body: { roles: [] } }))
        .body;
      return () => service.post(`/user/operation/${operation_id}/undo`, { token });
    },
  };

  /** Responses of these ways if the role is deleted meanwhile. */
  const rejected = { status: 400, body: { errors: [{ pointer: '/roles' }] } };
  const outcomes: Record<string, object> = {
    'creating a user': rejected,
    'changing a user': rejected,
    'changing found users': { status: 200, body: { changed: 0, skipped_reasons: { 'request.invalid': 1 } } },
    'importing a user': { status: 200, body: { changed: 0, skipped: [{ errors: [{ pointer: '/roles' }] }] } },
    'restoring a user': { status: 200, body: { roles: [] } },
    'undoing a deletion': { status: 202, body: { changed: 0, skipped_reasons: { 'request.invalid': 1 } } },
    'undoing a change': { status: 202, body: { changed: 0, skipped_reasons: { 'request.invalid': 1 } } },
  };

  /** Waits until a request waits for the lock. */
  async function someoneWaits(): Promise<void> {
    const waiting = `
      select 1
      from pg_locks
      join pg_database on pg_database.oid = database
      where datname = current_database() and locktype = 'advisory' and not granted and objid = $1`;
    await until(async () => (await service.rows(waiting, [rolesLock])).length > 0);
  }

  /**
   * Runs a request while another connection has an open transaction, which commits once the request
   * waits.
   */
  async function whileUnderWay(
    begin: (client: PoolClient) => Promise<unknown>,
    request: () => Promise<TestAnswer>,
  ): Promise<TestAnswer> {
    const client = await service.sql.connect();
    try {
      await client.query('begin');
      await begin(client);
      const answer = request();
      await someoneWaits();
      await client.query('commit');
      return await answer;
    } finally {
      client.release(true);
    }
  }

  it.each(Object.keys(ways))('%s waits for the deletion of the role and leaves no user with it (Z17)', async (way) => {
    const role = await newRole();
    const give = await (ways[way] as (typeof ways)[string])(role);
    const answer = await whileUnderWay(async (client) => {
      await client.query('select pg_advisory_xact_lock($1)', [rolesLock]);
      await client.query('delete from roles where name = $1', [role]);
    }, give);
    expect(answer).toMatchObject(outcomes[way] as object);
    expect(await impossible()).toEqual([]);
  });

  it.each([
    ['deleting', 'DELETE', undefined],
    ['closing', 'PATCH', { user_types: ['system'] }],
  ])('%s a role waits until it is granted and is then rejected', async (_title, method, body) => {
    const role = await newRole();
    const { user_id } = await service.createUser();
    const answer = await whileUnderWay(
      async (client) => {
        await client.query('select pg_advisory_xact_lock_shared($1)', [rolesLock]);
        await client.query('update users set roles = array[$1] where user_id = $2', [role, user_id]);
      },
      () => service.send(method, `/role/${role}`, { token, body }),
    );
    expect([answer.status, answer.body.code]).toEqual([409, 'role.in_use']);
  });

  it('makes may_grant wait for the deletion of a role that it names', async () => {
    const [role, other] = [await newRole(), await newRole()];
    const answer = await whileUnderWay(
      async (client) => {
        await client.query('select pg_advisory_xact_lock($1)', [rolesLock]);
        await client.query('delete from roles where name = $1', [role]);
      },
      () => service.patch(`/role/${other}`, { token, body: { may_grant: [role] } }),
    );
    expect([answer.status, answer.body.errors[0].pointer]).toEqual([400, '/may_grant']);
  });

  it(`leaves no user with a deleted or closed role in ${rounds} rounds of all ways at once`, async () => {
    for (let round = 0; round < rounds; round++) {
      const role = await newRole();
      const prepared: (() => Promise<TestAnswer>)[] = [];
      for (const way of Object.values(ways)) prepared.push(await way(role));
      const against =
        round % 2 === 0
          ? () => service.delete(`/role/${role}`, { token })
          : () => service.patch(`/role/${role}`, { token, body: { user_types: ['system'] } });
      const at = round % (prepared.length + 1);
      const answers = await Promise.all(
        [...prepared.slice(0, at), against, ...prepared.slice(at)].map((send) => send()),
      );
      expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
      expect(await impossible()).toEqual([]);
    }
  });

  describe('with the last administrator', () => {
    let pair: [Login, Login];
    const owners = ['owner-a', 'owner-b'] as const;
    beforeAll(async () => {
      for (const name of owners)
        await service.post('/role/create', {
          token,
          body: { name, user_types: ['system'], permissions: ['*', 'audit:read'] },
        });
      const [first, second] = [
        await service.loginAs({ user_type: 'system', roles: [owners[0]] }),
        await service.loginAs({ user_type: 'system', roles: [owners[1]] }),
      ];
      pair = [first, second];
      await service.rows(`update users set roles = '{}' where user_id = $1`, [service.admin.user_id]);
    });
    const repair = async () => {
      await service.rows(`update roles set permissions = '{*,audit:read}' where name like 'owner-%'`);
      await service.rows(
        `
          update users
          set
            status = 'active', deleted_at = null,
            roles = array[case when user_id = $1 then 'owner-a' else 'owner-b' end]
          where user_id in ($1, $2)`,
        [pair[0].user_id, pair[1].user_id],
      );
      await service.rows('update sessions set ended_at = null, ended_reason = null');
    };
    const administrators = async () =>
      (
        await service.rows(`select 1 from users where status = 'active' and deleted_at is null and carrier_scope is null
          and exists (select 1 from roles where name = any(users.roles) and '*' = any(permissions))`)
      ).length;
    const empty = (by: Login, role: string) =>
      service.patch(`/role/${role}`, { token: by.token, body: { permissions: ['audit:read'] } });

    it('keeps * in the role of the only administrator, without effect (Z14)', async () => {
      await repair();
      expect((await empty(pair[0], owners[1])).status).toBe(200);
      const last = await empty(pair[0], owners[0]);
      expect([last.status, last.body.code]).toEqual([409, 'user.last_administrator']);
      expect((await service.delete(`/role/${owners[0]}`, pair[0])).body.code).toBe('role.in_use');
      expect((await service.get('/user', pair[0])).body.permissions).toContain('*');
      const events = await service.rows(
        `select 1 from events where event_type = 'role.changed' and changes->'name'->>'after' = $1`,
        [owners[0]],
      );
      expect(events).toEqual([]);
    });

    it.each<[string, (by: Login, other: Login, role: string) => Promise<TestAnswer>]>([
      ['both emptying their own role', (by, _other, role) => empty(by, role)],
      ['each emptying the other’s role', (by, _other, role) => empty(by, role === owners[0] ? owners[1] : owners[0])],
    ])('keeps one administrator with %s at the same time, in every round (Z15)', async (_title, act) => {
      for (let round = 0; round < rounds; round++) {
        await repair();
        const answers = await Promise.all([act(pair[0], pair[1], owners[0]), act(pair[1], pair[0], owners[1])]);
        expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
        expect(await administrators()).toBeGreaterThanOrEqual(1);
      }
    });

    it.each([
      ['disabled', 'PATCH', { status: 'disabled' }],
      ['deleted', 'DELETE', undefined],
      ['demoted', 'PATCH', { roles: [] }],
      ['scoped', 'PATCH', { carrier_scope: [] }],
    ])(
      'keeps one administrator when a role is emptied while the other user is %s, in every round (Z15)',
      async (_title, method, body) => {
        for (let round = 0; round < rounds; round++) {
          await repair();
          await service.rows(`update users set carrier_scope = null where user_id in ($1, $2)`, [
            pair[0].user_id,
            pair[1].user_id,
          ]);
          const answers = await Promise.all([
            empty(pair[0], owners[0]),
            service.send(method, `/user/${pair[1].user_id}`, { token: pair[0].token, body }),
          ]);
          expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
          expect(await administrators()).toBeGreaterThanOrEqual(1);
        }
      },
    );
  });
});
