import { ownPermissions } from '../../../src/access/permissions';
import { createKey, type TestKey } from '../../support/keys';
import { type TestLogin, TestService } from '../../support/service';
import { until } from '../../support/until';

const form = { 'content-type': 'application/x-www-form-urlencoded' };

describe('introspection for modules', () => {
  let service: TestService;
  let module_: TestLogin;
  let scoped: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(
      `insert into roles (name, user_types, permissions) values ('resource_server', '{system}', '{token:introspect}')`,
    );
    module_ = await service.loginAs({ user_type: 'system', roles: ['resource_server'] });
    scoped = await service.loginAs({ user_type: 'system', roles: ['resource_server'], carrier_scope: ['c2'] });
  });
  afterAll(() => service.close());

  const seen = async (by: TestLogin, token: string) => {
    const body = new URLSearchParams({ token }).toString();
    const answer = await service.post('/auth/introspect', { token: by.token, headers: form, body });
    return [answer.status, answer.body];
  };
  const inactive = [200, { active: false }];

  it('spells out `*` as every permission of the service and of roles, old and new', async () => {
    const { token } = service.admin;
    const key = await createKey(service, ['*']);
    const scopes = () =>
      Promise.all([token, key.key].map(async (one) => (await seen(module_, one))[1].scope.split(' ') as string[]));
    const body = { name: 'dispatcher', user_types: ['system'], permissions: ['tour:plan', 'user:read'] };
    const before = await scopes();
    expect((await service.post('/role/create', { token, body })).status).toBe(201);
    const after = await scopes();
    for (const [index, scope] of after.entries()) {
      expect(scope.slice(0, 1 + Object.keys(ownPermissions).length)).toEqual(['*', ...Object.keys(ownPermissions)]);
      expect(scope.filter((permission) => !before[index]?.includes(permission))).toEqual(['tour:plan']);
      expect(new Set(scope).size).toBe(scope.length);
    }
    const change = { permissions: ['tour:close'] };
    expect((await service.patch('/role/dispatcher', { token, body: change })).status).toBe(200);
    for (const scope of await scopes())
      expect(scope.filter((permission) => permission.startsWith('tour:'))).toEqual(['tour:close']);
  });

  it('describes an API key to callers who may see it, and only while it is active (Z3)', async () => {
    const [whole, c1, c2] = [
      await createKey(service, ['user:read', 'tour:plan']),
      await createKey(service, ['user:read'], { carrier_scope: ['c1'] }),
      await service.loginAs({ carrier_id: 'c2', roles: ['carrier_administrator'] }),
    ];
    await service.rows(
      `insert into roles (name, user_types, permissions) values ('key_maker', '{carrier}', '{key:manage,user:read}')`,
    );
    const maker = await service.loginAs({ carrier_id: 'c2', roles: ['key_maker'] });
    const ofCarrier = await createKey(service, ['user:read'], {}, maker);
    const described = async ({ key_id }: TestKey) => {
      const [row] = await service.rows<{ exp: number }>(
        'select floor(extract(epoch from expires_at))::int as exp from keys where key_id = $1',
        [key_id],
      );
      return { active: true, client_id: key_id, sub: key_id, exp: row?.exp };
    };
    const all = { ...(await described(whole)), scope: 'user:read tour:plan', carrier_scope: null };
    expect(await seen(module_, whole.key)).toEqual([200, all]);
    const limited = { ...(await described(c1)), scope: 'user:read', carrier_scope: ['c1'] };
    expect(await seen(module_, c1.key)).toEqual([200, limited]);
    const carrier = { ...(await described(ofCarrier)), scope: 'user:read', carrier_scope: ['c2'], carrier_id: 'c2' };
    for (const asker of [module_, scoped]) expect(await seen(asker, ofCarrier.key)).toEqual([200, carrier]);
    // A module recognises another one, and itself.
    const own = await createKey(service, ['token:introspect'], { carrier_scope: ['c1'] });
    const byKey = { ...(await described(own)), scope: 'token:introspect', carrier_scope: ['c1'] };
    const asKey = { token: own.key } as TestLogin;
    expect(await seen(asKey, own.key)).toEqual([200, byKey]);
    for (const [asker, { key }] of [
      [scoped, whole],
      [scoped, c1],
      [asKey, whole],
      [asKey, ofCarrier],
      [c2, ofCarrier],
      [maker, ofCarrier],
    ] as const)
      expect(await seen(asker, key)).toEqual(inactive);
    await service.delete(`/auth/key/${whole.key_id}`, { token: service.admin.token });
    await service.rows('update keys set expires_at = now() where key_id = $1', [c1.key_id]);
    for (const { key } of [whole, c1]) expect(await seen(module_, key)).toEqual(inactive);
    expect(await seen(module_, `cik_${'A'.repeat(43)}`)).toEqual(inactive);
  });

  it('records the introspection of an API key as a use, without the address of the module', async () => {
    const { key, key_id } = await createKey(service, ['user:read']);
    expect((await seen(module_, key))[1].active).toBe(true);
    const used = () =>
      service.rows('select last_used_ip from keys where key_id = $1 and last_used_at is not null', [key_id]);
    await until(async () => (await used()).length === 1);
    expect(await used()).toEqual([{ last_used_ip: null }]);
  });
});
