import { type TestLogin, TestService } from '../../support/service';

type Login = TestLogin & { name: string };

/** Rounds of the races, with two or more parallel requests each. */
const rounds = 15;

describe('the last administrator', () => {
  let service: TestService;
  /** may grant the administrator role without holding it */
  let deputy: Login;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(`
      insert into roles (name, user_types, permissions, may_grant)
      values
        (
          'deputy', '{system}',
          '{user:read,user:create,user:update,user:delete,user:purge,session:read,session:revoke}',
          '{administrator,owner}'
        ),
        ('owner', '{system}', '{audit:read,*}', '{}')`);
    deputy = await service.loginAs({ user_type: 'system', roles: ['deputy'] });
  });
  afterAll(() => service.close());

  const rowOf = async (user_id: string) => (await service.rows('select * from users where user_id = $1', [user_id]))[0];
  const add = (fields: Record<string, unknown> = {}) =>
    service.createUser({ user_type: 'system', roles: ['administrator'], ...fields });
  const administrators = () =>
    service.rows<{
      user_id: string;
    }>(`
      select user_id
      from users
      where user_type = 'system'
        and status = 'active'
        and carrier_scope is null
        and deleted_at is null
        and roles && '{administrator,owner}'
        and exists (
          select 1
          from credentials c
          where c.user_id = users.user_id and (expires_at is null or expires_at > now())
        )`);
  const liveSessions = async (user_id: string) =>
    (await service.rows('select 1 from sessions where user_id = $1 and ended_at is null', [user_id])).length;

  /**
   * Ways to remove an administrator: `one` of a single user, `found` of all users that a filter
   * matches.
   */
  const one: [string, string, string, Record<string, unknown> | undefined][] = [
    ['deleted', 'DELETE', '', undefined],
    ['purged', 'DELETE', '?purge=true', undefined],
    ['disabled', 'PATCH', '', { status: 'disabled' }],
    ['demoted', 'PATCH', '', { roles: [] }],
    ['given another role instead', 'PATCH', '', { roles: ['deputy'] }],
    ['scoped', 'PATCH', '', { carrier_scope: ['c1'] }],
    ['scoped to nothing', 'PATCH', '', { carrier_scope: [] }],
  ];
  const found: [string, string, Record<string, unknown> | undefined][] = [
    ['deleted', 'DELETE', undefined],
    ['disabled', 'PATCH', { status: 'disabled' }],
    ['demoted', 'PATCH', { roles: ['deputy'] }],
    ['stripped of the role', 'PATCH', { roles_remove: ['administrator'] }],
    ['scoped', 'PATCH', { carrier_scope: ['c1'] }],
  ];

  const restoreAdministrator = () =>
    service.rows(`update users set roles = '{administrator}', deleted_at = null where user_id = $1`, [
      service.admin.user_id,
    ]);

  describe('deleting or disabling your own user', () => {
    it('rejects a caller who deletes or disables their own user, even with others left (Z13)', async () => {
      await add();
      const carrierAdministrator: TestLogin = await service.loginAs({ roles: ['carrier_administrator'] });
      for (const login of [service.admin, deputy, carrierAdministrator]) {
        for (const [title, method, query, body] of one.slice(0, 4)) {
          if (title === 'purged' && login === carrierAdministrator) continue;
          for (const id of [login.user_id, login.user_id.toUpperCase()]) {
            const answer = await service.send(method, `/user/${id}${query}`, { token: login.token, body });
            expect([title, answer.status, answer.body.code]).toEqual([title, 403, 'user.self_protected']);
          }
        }
        const ids = `user_id_in=${login.user_id},00000000-0000-7000-8000-000000000000`;
        for (const [method, body] of [['DELETE', undefined] as const, ['PATCH', { status: 'disabled' }] as const]) {
          const bulk = await service.send(method, `/user/all?${ids}`, { token: login.token, body });
          expect(bulk.body).toMatchObject({
            matched: 1,
            changed: 0,
            skipped: [{ user_id: login.user_id, reason: 'user.self_protected' }],
          });
        }
        expect((await service.get('/user', login)).status).toBe(200);
      }
    });
  });

  describe('removing the last administrator', () => {
    /** Leaves one administrator who can act, and some who cannot. */
    beforeAll(async () => {
      const { admin } = service;
      await service.rows(`update users set deleted_at = now() where roles && '{administrator}' and user_id <> $1`, [
        admin.user_id,
      ]);
      await add({ password: undefined, must_change_password: undefined });
      await add({ carrier_scope: ['c1'] });
      const [disabled, gone, dead] = [await add(), await add(), await add({ must_change_password: true })];
      expect(
        (await service.patch(`/user/${disabled.user_id}`, { token: admin.token, body: { status: 'disabled' } })).status,
      ).toBe(200);
      expect((await service.delete(`/user/${gone.user_id}`, admin)).status).toBe(204);
      // An expired initial password: the user cannot log in.
      await service.rows(`update credentials set expires_at = now() - interval '1 second' where user_id = $1`, [
        dead.user_id,
      ]);
      expect(await administrators()).toEqual([{ user_id: admin.user_id }]);
    });

    it.each(one)('rejects with 409: %s of this user alone (Z14)', async (_title, method, query, body) => {
      const { admin } = service;
      const before = await rowOf(admin.user_id);
      const answer = await service.send(method, `/user/${admin.user_id}${query}`, { token: deputy.token, body });
      expect([answer.status, answer.body.code]).toEqual([409, 'user.last_administrator']);
      expect(await rowOf(admin.user_id)).toEqual(before);
      expect((await service.get('/user', admin)).status).toBe(200);
    });

    it.each(found)(
      'skips the last administrator: %s of all users that a filter matches (Z14)',
      async (_title, method, body) => {
        const { admin } = service;
        const before = await rowOf(admin.user_id);
        for (const query of ['&dry_run=true', '']) {
          const answer = await service.send(method, `/user/all?user_id=${admin.user_id}${query}`, {
            token: deputy.token,
            body,
          });
          expect(answer.body).toMatchObject({
            matched: 1,
            skipped: [{ user_id: admin.user_id, reason: 'user.last_administrator' }],
          });
        }
        expect(await rowOf(admin.user_id)).toEqual(before);
        expect((await service.get('/user', admin)).status).toBe(200);
      },
    );

    it('leaves one of two administrators that a filter matches (Z14)', async () => {
      await add({ name: 'second-administrator', roles: ['owner'] });
      const answer = await service.delete(
        `/user/all?role_in=administrator,owner&status=active&must_change_password=false`,
        deputy,
      );
      expect(answer.body.skipped).toContainEqual({ user_id: expect.any(String), reason: 'user.last_administrator' });
      expect(await administrators()).toHaveLength(1);
      await restoreAdministrator();
      await service.rows('update sessions set ended_at = null, ended_reason = null where user_id = $1', [
        service.admin.user_id,
      ]);
    });

    it('reports a missing password before counting administrators (Z14)', async () => {
      const invited = await add({ password: undefined, must_change_password: undefined });
      const answer = await service.patch(`/user/${invited.user_id}`, {
        token: deputy.token,
        body: { status: 'active' },
      });
      expect([answer.status, answer.body.code]).toEqual([409, 'user.no_password']);
    });
  });

  describe('two administrators who remove each other', () => {
    it.each(one.filter(([title]) => !title.startsWith('given')))(
      '%s: keeps one of two administrators in every round (Z15)',
      async (_title, method, query, body) => {
        for (let round = 0; round < rounds; round++) {
          const [first, second] = await onlyTwo();
          const send = (by: TestLogin, target: TestLogin) =>
            service.send(method, `/user/${target.user_id}${query}`, { token: by.token, body });
          const answers = await Promise.all([
            send(first, second),
            send(second, first),
            send(deputy, first),
            send(deputy, second),
          ]);
          expect(answers.map(({ status }) => status).filter((status) => status >= 500)).toEqual([]);
          expect((await administrators()).length).toBe(1);
        }
      },
    );

    it('keeps an administrator when bulk and single requests run at once, also by a third caller (Z15)', async () => {
      for (let round = 0; round < rounds; round++) {
        const [first, second] = await onlyTwo();
        const all = `/user/all?user_id_in=${first.user_id},${second.user_id}`;
        const answers = await Promise.all([
          service.delete(all, deputy),
          service.patch(all, { token: first.token, body: { status: 'disabled' } }),
          service.patch(all, { token: second.token, body: { roles_remove: ['administrator'] } }),
          service.patch(all, { token: deputy.token, body: { carrier_scope: [] } }),
          service.delete(`/user/${first.user_id}`, second),
        ]);
        expect(answers.map(({ status }) => status).filter((status) => status >= 500)).toEqual([]);
        expect((await administrators()).length).toBe(1);
      }
    });

    let pair: [Login, Login] | null = null;

    /** Restores the two administrators and removes all others. A purged one is replaced. */
    async function onlyTwo(): Promise<[Login, Login]> {
      const ids = () => pair?.map(({ user_id }) => user_id) ?? [];
      if ((await service.rows('select 1 from users where user_id = any($1)', [ids()])).length < 2) {
        await restoreAdministrator();
        const fields = { user_type: 'system', roles: ['administrator'] };
        pair = [await service.loginAs(fields), await service.loginAs(fields)];
      }
      await service.rows(
        `update users set roles = '{}' where roles && '{administrator,owner}' and user_id <> all($1)`,
        [ids()],
      );
      await service.rows(
        `
          update users
          set deleted_at = null, status = 'active', carrier_scope = null, roles = '{administrator}'
          where user_id = any($1)`,
        [ids()],
      );
      await service.rows('update sessions set ended_at = null, ended_reason = null where user_id = any($1)', [ids()]);
      return pair as [Login, Login];
    }

    afterAll(() => restoreAdministrator());
  });

  describe('permissions that were just removed', () => {
    it.each([
      ['demoted', 'PATCH', { roles: ['auditor'] }, 403],
      ['disabled', 'PATCH', { status: 'disabled' }, 401],
      ['deleted', 'DELETE', undefined, 401],
    ])('%s: rejects every request that runs after the response (Z16)', async (_title, method, body, refused) => {
      const stale = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
      const victim = await service.createUser();
      let taken = false;
      const late: number[] = [];
      const loop = async () => {
        for (let step = 0; step < 400 && late.length < 10; step++) {
          const after = taken;
          const { status } = await service.patch(`/user/${victim.user_id}`, {
            token: stale.token,
            body: { attributes: { step } },
          });
          if (after) late.push(status);
        }
      };
      const loops = Promise.all([loop(), loop()]);
      const answer = await service.send(method, `/user/${stale.user_id}`, { token: service.admin.token, body });
      expect([200, 204]).toContain(answer.status);
      taken = true;
      await loops;
      expect(late.length).toBeGreaterThanOrEqual(10);
      expect(new Set(late)).toEqual(new Set([refused]));
      // A demoted user: the roles in the token are ignored.
      expect((await service.get('/user/list', stale)).status).toBe(refused === 403 ? 200 : 401);
      expect(await liveSessions(stale.user_id)).toBe(refused === 403 ? 1 : 0);
    });

    it('applies a narrowed scope and an emptied role to the next request (Z16)', async () => {
      const stale = await service.loginAs({ user_type: 'system', roles: ['deputy'] });
      const { user_id } = await service.createUser({ carrier_id: 'c7' });
      const { token } = service.admin;
      expect((await service.get(`/user/${user_id}`, stale)).status).toBe(200);
      await service.patch(`/user/${stale.user_id}`, { token, body: { carrier_scope: ['c1'] } });
      expect((await service.get(`/user/${user_id}`, stale)).status).toBe(404);
      await service.rows(`update roles set permissions = '{}' where name = 'deputy'`);
      expect((await service.get(`/user/${user_id}`, stale)).status).toBe(403);
    });
  });
});
