import { type TestAnswer, type TestLogin, TestService } from '../../support/service';

describe('restoring deleted users', () => {
  let service: TestService;
  let admin: TestLogin;
  let operator: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
    await service.rows(`insert into roles (name, user_types, permissions) values
      ('clerk', '{system}', '{user:read}'), ('gone', '{system}', '{user:read}')`);
    operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
  });
  afterAll(() => service.close());

  const code = ({ status, body }: TestAnswer) => `${status} ${body?.code ?? ''}`.trim();
  const restore = (user_id: string, { token }: TestLogin) => service.post(`/user/${user_id}/restore`, { token });
  const rowOf = async (user_id: string) => (await service.rows('select * from users where user_id = $1', [user_id]))[0];
  async function deleted(roles: string[]): Promise<string> {
    const { user_id } = await service.createUser({ user_type: 'system', roles });
    expect((await service.delete(`/user/${user_id}`, admin)).status).toBe(204);
    return user_id;
  }
  /** Returns a login of the operator that authenticated some minutes ago. */
  async function stale(): Promise<TestLogin> {
    const { name } = (await rowOf(operator.user_id)) as { name: string };
    const login = await service.login(name);
    await service.rows(`update sessions set auth_time = now() - interval '10 minutes' where session_id = $1`, [
      login.session_id,
    ]);
    return login;
  }

  it('is rejected for a user with a role that the caller may not grant, alone or among others (Z32)', async () => {
    for (const roles of [['administrator'], ['administrator', 'clerk']]) {
      const user_id = await deleted(roles);
      const before = await rowOf(user_id);
      expect(code(await restore(user_id, operator))).toBe('403 access.protected_user');
      expect(await rowOf(user_id)).toEqual(before);
      // Control: an administrator restores the user with all roles.
      const restored = await restore(user_id, admin);
      expect([restored.status, restored.body.roles]).toEqual([200, roles]);
    }
  });

  it('checks the roles at the time of the deletion, with their current permissions (Z32)', async () => {
    const user_id = await deleted(['clerk']);
    const grow = (permissions: string[]) => service.patch('/role/clerk', { token: admin.token, body: { permissions } });
    await grow(['user:read', 'user:purge']);
    expect(code(await restore(user_id, operator))).toBe('403 access.protected_user');
    await grow(['user:read']);
    expect((await restore(user_id, operator)).body.roles).toEqual(['clerk']);
  });

  it('drops roles that no longer exist or are closed to the user type', async () => {
    const user_id = await deleted(['clerk', 'gone', 'operator']);
    await service.rows(`delete from roles where name = 'gone'`);
    await service.rows(`update roles set user_types = '{carrier}' where name = 'clerk'`);
    expect((await restore(user_id, operator)).body.roles).toEqual(['operator']);
    const recorded = `select changes from events where event_type = 'user.restored' and target_id = $1`;
    expect(await service.rows(recorded, [user_id])).toEqual([
      { changes: { roles: { before: ['clerk', 'gone', 'operator'], after: ['operator'] } } },
    ]);
  });

  it('needs a fresh authentication for a user with roles, after the check of the roles (S24)', async () => {
    const old = await stale();
    const [strong, plain, without] = [await deleted(['administrator']), await deleted(['operator']), await deleted([])];
    expect(code(await restore(strong, old))).toBe('403 access.protected_user');
    expect(code(await restore(plain, old))).toBe('401 auth.reauthentication_required');
    expect((await rowOf(plain))?.['deleted_at']).not.toBeNull();
    expect(code(await restore(without, old))).toBe('200');
    expect(code(await restore(plain, operator))).toBe('200');
  });

  it('enables users only after a fresh authentication, singly and in bulk (S24)', async () => {
    const old = await stale();
    const [one, other] = await Promise.all([1, 2].map(() => service.createUser({ user_type: 'system' })));
    const ids = [one?.user_id ?? '', other?.user_id ?? ''];
    await service.rows(`update users set status = 'disabled' where user_id = any($1)`, [ids]);
    for (const status of ['active', 'invited']) {
      const request = { token: old.token, body: { status } };
      expect(code(await service.patch(`/user/${ids[0]}`, request))).toBe('401 auth.reauthentication_required');
      const url = `/user/all?user_id_in=${ids.join()}`;
      expect(code(await service.patch(url, request))).toBe('401 auth.reauthentication_required');
      expect((await service.patch(`${url}&dry_run=true`, request)).status).toBe(200);
    }
    const states = () => service.rows('select status from users where user_id = any($1)', [ids]);
    expect(await states()).toEqual([{ status: 'disabled' }, { status: 'disabled' }]);
    const fresh = await service.patch(`/user/all?user_id_in=${ids.join()}`, {
      token: operator.token,
      body: { status: 'active' },
    });
    expect(fresh.body.changed).toBe(2);
    // Disabling needs no fresh authentication.
    expect(code(await service.patch(`/user/${ids[0]}`, { token: old.token, body: { status: 'disabled' } }))).toBe(
      '200',
    );
  });
});
