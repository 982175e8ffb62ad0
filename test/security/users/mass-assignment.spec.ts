import { password, type TestLogin, TestService } from '../../support/service';

type Login = TestLogin & { name: string; email: string };

/** Fields that no request may set: columns, response fields and their names in other systems. */
const never: Record<string, unknown> = {
  ...{
    id: 1,
    user_id: '018f0000-0000-7000-8000-000000000000',
    role: 'administrator',
    permissions: ['*'],
    may_grant: ['administrator'],
  },
  ...{
    is_admin: true,
    isAdmin: true,
    admin: true,
    is_superuser: true,
    scope: '*',
    type: 'system',
    built_in: true,
    actor_type: 'system',
  },
  ...{
    created_at: '2000-01-01T00:00:00Z',
    updated_at: '2000-01-01T00:00:00Z',
    created_by: null,
    version: 1,
    search_text: 'a',
  },
  ...{
    email_verified: true,
    email_verified_at: '2000-01-01T00:00:00Z',
    email_pending: 'eve@example.com',
    online: true,
  },
  ...{
    password_hash: '$argon2id$',
    password_changed_at: null,
    locked_until: null,
    last_login_at: null,
    last_login_ip: '192.0.2.1',
  },
  ...{
    last_seen_at: null,
    deleted_at: null,
    mfa_secret: 'A',
    mfa_enabled: false,
    token_version: 0,
    session_id: null,
    credential: {},
  },
};
/** Keys that reach prototypes, as text, because an object literal would not keep them. */
const prototypes = [
  '"__proto__":{"roles":["administrator"]}',
  '"constructor":{"prototype":{"roles":["administrator"]}}',
  '"prototype":{}',
];

describe('fields that the caller may not set', () => {
  let service: TestService;
  let carrierAdministrator: Login;
  let user: Login;
  beforeAll(async () => {
    service = await TestService.start();
    carrierAdministrator = await service.loginAs({ roles: ['carrier_administrator'] });
    user = await service.loginAs({ roles: ['carrier_user'] });
  });
  afterAll(() => service.close());

  const rowOf = async (user_id: string) => (await service.rows('select * from users where user_id = $1', [user_id]))[0];
  const json = { 'content-type': 'application/json' };

  it('rejects privileged fields at creation, and creates no user (Z6)', async () => {
    const fields = { user_type: 'carrier', name: 'mallory', email: 'mallory@example.com', carrier_id: 'c1' };
    const create = (body: unknown) =>
      service.post('/user/create', { token: carrierAdministrator.token, body, headers: json });
    for (const [field, value] of Object.entries({ ...never, status: 'active' })) {
      const answer = await create({ ...fields, [field]: value });
      expect([field, answer.status, answer.body.errors[0].code]).toEqual([field, 400, 'field.unknown']);
    }
    for (const key of prototypes)
      expect([key, (await create(`${JSON.stringify(fields).slice(0, -1)},${key}}`)).status]).toEqual([key, 400]);
    for (const [field, value] of Object.entries({ user_type: 'system', carrier_id: 'c2' })) {
      const { carrier_id, ...rest } = fields;
      const answer = await create({ ...rest, ...(field === 'carrier_id' ? { carrier_id } : {}), [field]: value });
      expect([field, answer.status, answer.body.code]).toEqual([field, 403, 'access.denied']);
    }
    for (const roles of [['administrator'], ['operator'], ['auditor']])
      expect((await create({ ...fields, roles })).status).toBe(400);
    expect((await create({ ...fields, carrier_scope: ['c2'] })).status).toBe(400);
    expect(await service.rows(`select 1 from users where name = 'mallory'`)).toEqual([]);
    const made = await create({ ...fields, password, must_change_password: false });
    expect(made.body).toMatchObject({
      roles: [],
      status: 'active',
      email_verified_at: null,
      version: 1,
      created_by: carrierAdministrator.user_id,
    });
  });

  it('changes only personal fields of the own user (Z7)', async () => {
    const others = {
      ...{
        name: 'root',
        email: 'eve@example.com',
        roles: ['carrier_administrator'],
        status: 'active',
        carrier_scope: null,
        allowed_ips: [],
      },
      ...{ attributes: { tier: 'gold' }, must_change_password: false },
    };
    for (const login of [user, carrierAdministrator]) {
      const before = await rowOf(login.user_id);
      const change = (body: unknown) =>
        service.patch(`/user/${login.user_id}`, { token: login.token, body, headers: json });
      for (const [field, value] of Object.entries({
        ...never,
        user_type: 'system',
        carrier_id: 'c2',
        password: 'correct horse battery staples',
      })) {
        const answer = await change({ first_name: 'Eve', [field]: value });
        expect([field, answer.status, answer.body.errors[0].code]).toEqual([field, 400, 'field.unknown']);
      }
      for (const key of prototypes)
        expect([key, (await change(`{"first_name":"Eve",${key}}`)).status]).toEqual([key, 400]);
      const refused = login === user ? others : { roles: others.roles, status: 'disabled', carrier_scope: null };
      for (const [field, value] of Object.entries(refused)) {
        expect([field, (await change({ first_name: 'Eve', [field]: value })).status]).toEqual([field, 403]);
      }
      expect(await rowOf(login.user_id)).toEqual(before);
    }
    const personal = {
      first_name: 'Ada',
      last_name: 'Lovelace',
      phone: '+4312345678',
      job_title: 'Dispatcher',
      locale: 'de-AT',
      timezone: 'Europe/Vienna',
    };
    expect((await service.patch(`/user/${user.user_id}`, { token: user.token, body: personal })).body).toMatchObject(
      personal,
    );
  });

  it('rejects fields of a single user and internal fields in a bulk change (Z8, B18)', async () => {
    const { token } = service.admin;
    const single = {
      ...{
        email: 'eve@example.com',
        name: 'eve',
        login: 'eve',
        first_name: 'Eve',
        last_name: 'Eve',
        phone: '+4312345678',
      },
      ...{ password: 'correct horse battery staples', user_type: 'system', carrier_id: 'c2', username: 'eve' },
    };
    const before = await service.rows('select * from users order by user_id');
    for (const [field, value] of Object.entries({ ...never, ...single })) {
      for (const filter of ['carrier_id=c1', 'everyone=true', 'carrier_id=c1&dry_run=true']) {
        const answer = await service.patch(`/user/all?${filter}`, { token, body: { locale: 'fr', [field]: value } });
        expect([field, answer.status, answer.body.errors[0].code]).toEqual([field, 400, 'field.unknown']);
      }
    }
    for (const key of prototypes) {
      expect([
        key,
        (await service.patch('/user/all?carrier_id=c1', { token, body: `{"locale":"fr",${key}}`, headers: json }))
          .status,
      ]).toEqual([key, 400]);
    }
    expect(await service.rows('select * from users order by user_id')).toEqual(before);
    expect(
      (await service.patch('/user/all?carrier_id=c1', { token, body: { locale: 'fr' } })).body.changed,
    ).toBeGreaterThan(1);
  });

  it('lets an administrator set only an initial password, which expires and must be changed (Z18)', async () => {
    const { token } = service.admin;
    for (const field of ['password', 'new_password', 'password_hash', 'current_password']) {
      for (const path of [`/user/${user.user_id}`, `/user/all?user_id=${user.user_id}`]) {
        const answer = await service.patch(path, { token, body: { [field]: 'correct horse battery staples' } });
        expect([field, answer.status, answer.body.errors[0].code]).toEqual([field, 400, 'field.unknown']);
      }
    }
    expect((await service.login(user.name)).user_id).toBe(user.user_id);

    const { user_id, name, ...created } = await service.createUser({ must_change_password: undefined });
    expect(created).toMatchObject({ must_change_password: true, status: 'active' });
    expect(JSON.stringify(created)).not.toMatch(/"password"|argon2/);
    const first = await service.login(name);
    expect((await service.get('/user', first)).body.permissions).toEqual([]);
    expect((await service.patch(`/user/${user_id}`, { token: first.token, body: { first_name: 'A' } })).body.code).toBe(
      'auth.password_change_required',
    );

    const unused = await service.createUser({ must_change_password: undefined });
    const [credential] = await service.rows<{ days: number }>(
      'select extract(epoch from expires_at - now()) / 86400 as days from credentials where user_id = $1',
      [unused.user_id],
    );
    expect(Number(credential?.days)).toBeCloseTo(7, 1);
    await service.rows(`update credentials set expires_at = now() - interval '1 second' where user_id = $1`, [
      unused.user_id,
    ]);
    const late = await service.post('/auth/login', { body: { login: unused.name, password } });
    expect(late.body.code).toBe('auth.invalid_credentials');
  });
});
