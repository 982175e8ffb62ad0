import { type TestLogin, TestService } from '../../support/service';

type Login = TestLogin & { name: string; email: string };

describe('names of roles and permissions', () => {
  let service: TestService;
  let support: Login;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(`insert into roles (name, user_types, permissions, may_grant) values
      ('support', '{system,carrier}', '{user:read,user:update}', '{}'),
      ('odd', '{system,carrier}', '{}', '{}')`);
    support = await service.loginAs({ user_type: 'system', roles: ['support'] });
  });
  afterAll(() => service.close());

  const rowOf = async (user_id: string) => (await service.rows('select * from users where user_id = $1', [user_id]))[0];

  describe('roles that do not exist', () => {
    const strange = [
      'superadmin',
      '',
      ' ',
      'Administrator',
      'administrator ',
      '*',
      'user:read',
      'constructor',
      '__proto__',
      'toString',
      'a'.repeat(65),
    ];
    const wrong = [
      ...strange.map((role) => [role]),
      [999],
      [null],
      [['operator']],
      [{}],
      ['odd', 'odd'],
      'odd',
      999,
      null,
      {},
      true,
      strange,
    ];

    it.each([['PATCH one'], ['PATCH found'], ['create']])('rejects unknown roles in %s (Z17)', async (title) => {
      const victim = await service.createUser({ roles: ['odd'] });
      for (const roles of wrong) {
        const name = `z17-${Math.random().toString(36).slice(2)}`;
        const requests: [string, string, Record<string, unknown>][] =
          title === 'create'
            ? [
                [
                  'POST',
                  '/user/create',
                  { user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com`, roles },
                ],
              ]
            : title === 'PATCH one'
              ? [['PATCH', `/user/${victim.user_id}`, { roles }]]
              : ['roles', 'roles_add', 'roles_remove'].map((field) => [
                  'PATCH',
                  `/user/all?user_id=${victim.user_id}`,
                  { [field]: roles },
                ]);
        for (const [method, path, body] of requests) {
          const answer = await service.send(method, path, { token: service.admin.token, body });
          expect([body, answer.status, answer.body.code]).toEqual([body, 400, 'request.invalid']);
        }
      }
      expect(await rowOf(victim.user_id)).toMatchObject({ roles: ['odd'], version: 1 });
    });
  });

  describe('wildcards and near misses of permissions', () => {
    const nearMisses = [
      'user:*',
      'user.*',
      'USER:READ',
      'User:Read',
      'user:readx',
      'user:rea',
      'user',
      'user:',
      ':read',
      'user:read ',
      ' user:read',
    ];
    const others = [
      'user:read,user:update',
      'user:read:all',
      '**',
      '*:*',
      '*:read',
      'read',
      '',
      'user%',
      'user_read',
      'user.read',
      'constructor',
    ];

    it('opens a route only with the exact permission or * (Z20)', async () => {
      const login = await service.loginAs({ user_type: 'system', roles: ['odd'] });
      const status = async (permissions: string[]) => {
        await service.rows(`update roles set permissions = $1 where name = 'odd'`, [permissions]);
        return (await service.get('/user/list?count=none', login)).status;
      };
      for (const permission of [...nearMisses, ...others])
        expect([permission, await status([permission])]).toEqual([permission, 403]);
      expect(await status([...nearMisses, ...others])).toBe(403);
      expect(await status(['user:read'])).toBe(200);
      expect(await status(['*'])).toBe(200);
      expect(await status([])).toBe(403);
    });

    it('grants a role only to callers who hold its exact permissions (Z20)', async () => {
      const victim = await service.createUser({ roles: [] });
      const give = async (permission: string) => {
        await service.rows(`update roles set permissions = $1 where name = 'odd'`, [[permission]]);
        const answer = await service.patch(`/user/${victim.user_id}`, {
          token: support.token,
          body: { roles: ['odd'] },
        });
        await service.rows(`update users set roles = '{}' where user_id = $1`, [victim.user_id]);
        return answer.status;
      };
      for (const permission of [...nearMisses, ...others, '*', 'audit:read'])
        expect([permission, await give(permission)]).toEqual([permission, 403]);
      expect(await give('user:update')).toBe(200);
      await service.rows(`update roles set permissions = '{}' where name = 'odd'`);
    });
  });
});
