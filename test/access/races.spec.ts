import { advisoryLocks } from '../../src/platform/advisory-locks';
import { importRows } from '../support/data/imports';
import { inTransaction, lockWaits } from '../support/locks';
import { accessTokenOf, addLogins, type MadeLogin } from '../support/data/made-logins';
import { addManyUsers } from '../support/data/many-users';
import { password, type TestAnswer, type TestLogin, TestService } from '../support/service';

type Request = () => Promise<TestAnswer>;
type By = Pick<TestLogin, 'token'>;
type Admin = By & { user_id: string };

/** A way to remove an administrator: method, query and body. */
type Way = [method: string, query: string, body?: object];

const ways: Record<string, Way> = {
  deleted: ['DELETE', ''],
  purged: ['DELETE', '?purge=true'],
  disabled: ['PATCH', '', { status: 'disabled' }],
  demoted: ['PATCH', '', { roles: [] }],
  'given another role': ['PATCH', '', { roles: ['deputy'] }],
  scoped: ['PATCH', '', { carrier_scope: ['c1'] }],
  'scoped to nothing': ['PATCH', '', { carrier_scope: [] }],
};

describe('access that changes', () => {
  let service: TestService;
  let admin: TestLogin;
  /** may grant the roles of administrators without being one */
  let deputy: TestLogin;
  beforeAll(async () => {
    // Each request of a race needs a connection, to wait for a lock.
    service = await TestService.start({ DATABASE_POOL_MAX: '20' });
    ({ admin } = service);
    const permissions = 'user:read,user:create,user:update,user:delete,user:purge,session:read,session:revoke';
    await service.rows(`insert into roles (name, user_types, permissions, may_grant) values
      ('deputy', '{system}', '{${permissions}}', '{administrator,owner-a,owner-b}'),
      ('owner-a', '{system}', '{audit:read,*}', '{}'),
      ('owner-b', '{system}', '{audit:read,*}', '{}')`);
    deputy = await loginAs('deputy');
  });
  afterAll(() => service.close());

  const loginAs = (role: string) => service.loginAs({ user_type: 'system', roles: [role] });
  const rowOf = async (user_id: string) => (await service.rows('select * from users where user_id = $1', [user_id]))[0];
  const send = ({ token }: By, { user_id }: { user_id: string }, [method, query, body]: Way) =>
    service.send(method, `/user/${user_id}${query}`, { token, body });

  /** Sends requests while a transaction is open, and commits it once all of them wait for locks. */
  const whileOpen = (statements: [text: string, ...values: unknown[]][], requests: Request[]) =>
    inTransaction(service, async (client) => {
      for (const [text, ...values] of statements) await client.query(text, values);
      const answers = Promise.all(requests.map((request) => request()));
      await lockWaits(service, requests.length);
      await client.query('commit');
      return answers;
    });

  describe('for the last administrator', () => {
    // Tests remove other administrators by SQL.
    const restoreAdmin = async () => {
      const restored = `status = 'active', deleted_at = null, roles = '{administrator}'`;
      await service.rows(`update users set ${restored} where user_id = $1`, [admin.user_id]);
      await service.rows('update sessions set ended_at = null, ended_reason = null where user_id = $1', [
        admin.user_id,
      ]);
    };
    beforeEach(restoreAdmin);
    afterAll(restoreAdmin);

    /** Inserts an administrator without hashing a password. */
    const insertAdmin = async (role: string): Promise<Admin> => {
      const prefix = `${role}-${++inserted}-`;
      const [made] = await addLogins(service, 1, { prefix, user_type: 'system', roles: [role] });
      return { user_id: String(made?.user_id), token: await accessTokenOf(service, made as MadeLogin) };
    };
    let inserted = 0;
    const add = (fields: Record<string, unknown> = {}) =>
      service.createUser({ user_type: 'system', roles: ['administrator'], ...fields });
    /** Removes the roles of all other administrators. */
    const keepOnly = (...users: { user_id: string }[]) =>
      service.rows(
        `update users set roles = '{}' where roles && '{administrator,owner-a,owner-b}' and user_id <> all($1)`,
        [users.map(({ user_id }) => user_id)],
      );
    const administrators = () =>
      service.rows(`
        select user_id
        from users
        where user_type = 'system' and status = 'active' and carrier_scope is null and deleted_at is null
          and exists (select 1 from roles where name = any(users.roles) and '*' = any(permissions))
          and exists (
            select 1
            from credentials c
            where c.user_id = users.user_id and (expires_at is null or expires_at > now())
          )`);
    const empty = ({ token }: By, role: string) =>
      service.patch(`/role/${role}`, { token, body: { permissions: ['audit:read'] } });
    const fillRoles = () =>
      service.rows(`update roles set permissions = '{audit:read,*}' where name in ('owner-a', 'owner-b')`);

    describe('beside administrators who cannot act', () => {
      beforeAll(async () => {
        await add({ password: undefined, must_change_password: undefined });
        await add({ carrier_scope: ['c1'] });
        const [disabled, gone, late] = [await add(), await add(), await add({ must_change_password: true })];
        expect((await send(admin, disabled, ['PATCH', '', { status: 'disabled' }])).status).toBe(200);
        expect((await send(admin, gone, ['DELETE', ''])).status).toBe(204);
        // An expired initial password: the user cannot log in.
        const expire = `update credentials set expires_at = now() - interval '1 second' where user_id = $1`;
        await service.rows(expire, [late.user_id]);
        expect(await administrators()).toEqual([{ user_id: admin.user_id }]);
      });

      it.each(Object.entries(ways))('is kept: the user cannot be %s (Z14)', async (_title, way) => {
        const before = await rowOf(admin.user_id);
        const answer = await send(deputy, admin, way);
        expect([answer.status, answer.body.code]).toEqual([409, 'user.last_administrator']);
        expect(await rowOf(admin.user_id)).toEqual(before);
        expect((await service.get('/user', admin)).status).toBe(200);
      });

      it('is kept in bulk changes and their previews, which skip the user (Z14)', async () => {
        const before = await rowOf(admin.user_id);
        const skipped = [{ user_id: admin.user_id, reason: 'user.last_administrator' }];
        for (const [method, body] of [
          ['DELETE', undefined],
          ['PATCH', { status: 'disabled' }],
          ['PATCH', { roles: ['deputy'] }],
          ['PATCH', { roles_remove: ['administrator'] }],
          ['PATCH', { carrier_scope: ['c1'] }],
        ] as const)
          for (const query of ['&dry_run=true', '']) {
            const path = `/user/all?user_id=${admin.user_id}${query}`;
            const answer = await service.send(method, path, { token: deputy.token, body });
            expect([body, answer.body]).toMatchObject([body, { matched: 1, skipped }]);
          }
        expect(await rowOf(admin.user_id)).toEqual(before);
      });

      it('is kept if a filter matches both administrators, also with different roles (Z14)', async () => {
        const other = await insertAdmin('owner-a');
        const { body } = await service.delete(`/user/all?user_id_in=${admin.user_id},${other.user_id}`, deputy);
        expect(body).toMatchObject({ changed: 1, skipped: [{ reason: 'user.last_administrator' }] });
        expect(await administrators()).toEqual([{ user_id: body.skipped[0].user_id }]);
      });

      it('is kept if a change removes * from the role: it is rejected without an event (Z14)', async () => {
        const owner = await insertAdmin('owner-a');
        await keepOnly(owner);
        const { status, body } = await empty(owner, 'owner-a');
        expect([status, body.code]).toEqual([409, 'user.last_administrator']);
        expect((await service.delete('/role/owner-a', owner)).body.code).toBe('role.in_use');
        expect((await service.get('/user', owner)).body.permissions).toContain('*');
        expect(await service.rows(`select 1 from events where event_type = 'role.changed'`)).toEqual([]);
        await restoreAdmin();
        expect((await empty(owner, 'owner-a')).status).toBe(200);
        await fillRoles();
      });

      it('reports a missing password of another user first (Z14)', async () => {
        const invited = await add({ password: undefined, must_change_password: undefined });
        const answer = await send(deputy, invited, ['PATCH', '', { status: 'active' }]);
        expect([answer.status, answer.body.code]).toEqual([409, 'user.no_password']);
      });
    });

    describe('beside a second administrator', () => {
      let first: Admin;
      let second: Admin;
      beforeEach(async () => {
        [first, second] = [await insertAdmin('owner-a'), await insertAdmin('owner-b')];
        await keepOnly(first, second);
      });
      afterEach(fillRoles);

      /** Sends requests that the lock of administrators admits one after another. */
      const expectOneLeft = async (...requests: Request[]) => {
        const lock: [string, number] = ['select pg_advisory_xact_lock($1)', advisoryLocks.administrators];
        const answers = await whileOpen([lock], requests);
        expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
        expect(await administrators()).toHaveLength(1);
        return answers;
      };

      it.each(['deleted', 'disabled', 'demoted', 'scoped'])(
        'keeps one if both are %s by each other and by a third user (Z15)',
        async (title) => {
          const way = ways[title] as Way;
          await expectOneLeft(
            () => send(first, second, way),
            () => send(second, first, way),
            () => send(deputy, first, way),
            () => send(deputy, second, way),
          );
        },
      );

      it('keeps one if concurrent bulk and single requests remove both in several ways (Z15)', async () => {
        const all = `/user/all?user_id_in=${first.user_id},${second.user_id}`;
        const patch = ({ token }: By, body: object) => service.patch(all, { token, body });
        await expectOneLeft(
          () => service.delete(all, deputy),
          () => patch(first, { status: 'disabled' }),
          () => patch(second, { roles_remove: ['owner-a', 'owner-b'] }),
          () => patch(deputy, { carrier_scope: [] }),
          () => service.delete(`/user/${first.user_id}`, second),
        );
      });

      it.each<[string, () => Request[]]>([
        ['both remove * from their own role', () => [() => empty(first, 'owner-a'), () => empty(second, 'owner-b')]],
        [
          'each removes * from the role of the other',
          () => [() => empty(first, 'owner-b'), () => empty(second, 'owner-a')],
        ],
        ...['disabled', 'deleted', 'demoted', 'scoped'].map((title): [string, () => Request[]] => [
          `one removes * from their own role and the other is ${title}`,
          () => [() => empty(first, 'owner-a'), () => send(first, second, ways[title] as Way)],
        ]),
      ])('keeps one if %s (Z15)', async (_title, requests) => {
        const answers = await expectOneLeft(...requests());
        expect(answers.filter(({ status }) => status < 300)).toHaveLength(1);
        expect(answers.filter(({ body }) => body?.code === 'user.last_administrator')).toHaveLength(1);
      });
    });
  });

  describe('for a user', () => {
    it.each([
      ['demoted', ['PATCH', '', { roles: ['auditor'] }], 403],
      ['disabled', ['PATCH', '', { status: 'disabled' }], 401],
      ['deleted', ['DELETE', ''], 401],
    ] satisfies [string, Way, number][])(
      'ends with the response to the request by which the user is %s, also for parallel requests (Z16)',
      async (_title, way, refused) => {
        const stale = await loginAs('administrator');
        const victim = await service.createUser();
        let [taken, step] = [false, 0];
        const late: number[] = [];
        const loop = async () => {
          while (late.length < 4) {
            const after = taken;
            const answer = await send(stale, victim, ['PATCH', '', { attributes: { step: ++step } }]);
            if (after) late.push(answer.status);
          }
        };
        const loops = [loop(), loop()];
        expect([200, 204]).toContain((await send(admin, stale, way as Way)).status);
        taken = true;
        await Promise.all(loops);
        expect(new Set(late)).toEqual(new Set([refused]));
        // A demoted user may still read users: the service ignores the roles in the token.
        expect((await service.get('/user/list', stale)).status).toBe(refused === 403 ? 200 : 401);
        const live = 'select 1 from sessions where user_id = $1 and ended_at is null';
        expect(await service.rows(live, [stale.user_id])).toHaveLength(refused === 403 ? 1 : 0);
      },
    );
  });

  describe('for a role that is granted meanwhile', () => {
    let count = 0;
    const addRole = async (): Promise<string> => {
      const body = { name: `race-${++count}`, user_types: ['system', 'carrier'] };
      expect((await service.post('/role/create', { token: admin.token, body })).status).toBe(201);
      return body.name;
    };
    const newUser = (name: string, role: string) => ({
      ...{ user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com`, roles: [role] },
    });
    const create = (user: object) => service.post('/user/create', { token: admin.token, body: user });
    const patch = (url: string, body: object) => service.patch(url, { token: admin.token, body });
    const undo = ({ body }: TestAnswer) => service.post(`/user/operation/${body.operation_id}/undo`, admin);
    const roleLock: [string, number] = ['select pg_advisory_xact_lock($1)', advisoryLocks.roles];

    it('makes all ways to grant it wait for its deletion, and leaves no user with it (Z17)', async () => {
      const role = await addRole();
      const userOf = async (...roles: string[]) => (await service.createUser({ roles })).user_id;
      const [changed, found, restored] = [await userOf(), await userOf(), await userOf(role)];
      const [undeleted, unstripped] = [await userOf(role), await userOf(role)];
      await service.delete(`/user/${restored}`, admin);
      const deletion = await service.delete(`/user/all?user_id=${undeleted}`, admin);
      const change = await patch(`/user/all?user_id=${unstripped}`, { roles: [] });
      const rejected = { status: 400, body: { errors: [{ pointer: '/roles' }] } };
      const skipped = { changed: 0, skipped_reasons: { 'request.invalid': 1 } };
      const grants: [Request, response: object][] = [
        [() => create(newUser('created', role)), rejected],
        [() => patch(`/user/${changed}`, { roles: [role] }), rejected],
        [() => patch(`/user/all?user_id=${found}`, { roles_add: [role] }), { status: 200, body: skipped }],
        [
          () => importRows(service, [newUser('imported', role)], admin),
          { status: 200, body: { changed: 0, skipped: [{ errors: [{ pointer: '/roles' }] }] } },
        ],
        [() => service.post(`/user/${restored}/restore`, admin), { status: 200, body: { roles: [] } }],
        [() => undo(deletion), { status: 202, body: skipped }],
        [() => undo(change), { status: 202, body: skipped }],
      ];
      const answers = await whileOpen(
        [roleLock, ['delete from roles where name = $1', role]],
        grants.map(([request]) => request),
      );
      expect(answers).toMatchObject(grants.map(([, response]) => response));
      expect(await service.rows('select name from users where $1 = any(roles) and deleted_at is null', [role])).toEqual(
        [],
      );
    });

    it('makes may_grant of another role wait for its deletion (Z17)', async () => {
      const [role, other] = [await addRole(), await addRole()];
      const change = () => patch(`/role/${other}`, { may_grant: [role] });
      const [answer] = await whileOpen([roleLock, ['delete from roles where name = $1', role]], [change]);
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/may_grant' }] } });
    });

    it.each([
      ['deleted', 'DELETE', undefined],
      ['closed to the type of the user', 'PATCH', { user_types: ['system'] }],
    ])('waits for the grant, and is then not %s (Z17)', async (_title, method, body) => {
      const role = await addRole();
      const { user_id } = await service.createUser();
      const answers = await whileOpen(
        [
          ['select pg_advisory_xact_lock_shared($1)', advisoryLocks.roles],
          ['update users set roles = array[$1] where user_id = $2', role, user_id],
        ],
        [() => service.send(method, `/role/${role}`, { token: admin.token, body })],
      );
      expect(answers).toMatchObject([{ status: 409, body: { code: 'role.in_use' } }]);
    });

    it('waits for running bulk changes and delays later ones, but not the creation of users (B35)', async () => {
      const role = await addRole();
      await addManyUsers(service, 2, 'one');
      await addManyUsers(service, 2, 'two');
      await service.rows(`
        create function wait() returns trigger language plpgsql set lock_timeout = 0
        as $$ begin perform pg_advisory_xact_lock_shared(77); return null; end $$;
        create trigger wait after update on users for each statement execute function wait()`);
      await inTransaction(service, async (gate) => {
        await gate.query('select pg_advisory_xact_lock(77)');
        const grant = (carrier: string) => patch(`/user/all?carrier_id=${carrier}`, { roles_add: [role] });
        const running = grant('one');
        await lockWaits(service, 1);
        const changed = patch(`/role/${role}`, { description: 'Rides' });
        await lockWaits(service, 2);
        const later = grant('two');
        await lockWaits(service, 3);
        const meanwhile = { ...newUser('meanwhile', role), password, must_change_password: false };
        expect((await create(meanwhile)).status).toBe(201);
        await lockWaits(service, 3);
        await gate.query('commit');
        const answers = await Promise.all([running, changed, later]);
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      }).finally(() => service.rows('drop function wait cascade'));
    });
  });
});
