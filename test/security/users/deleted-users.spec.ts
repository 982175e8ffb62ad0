import { TestService } from '../../support/service';
import { tableNames } from '../../support/tables';

describe('deleted users', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  it('hides a deleted user, and passes nothing to a user with the same name and address (Z19)', async () => {
    const { token } = service.admin;
    const first = await service.loginAs({ roles: ['carrier_administrator'] });
    expect((await service.delete(`/user/${first.user_id}`, { token })).status).toBe(204);

    expect((await service.get(`/user/${first.user_id}`, { token })).body.code).toBe('user.not_found');
    expect((await service.patch(`/user/${first.user_id}`, { token, body: { first_name: 'x' } })).status).toBe(404);
    for (const query of [`user_id=${first.user_id}`, `name=${first.name}`, `q=${first.name}`])
      expect((await service.get(`/user/list?${query}`, { token })).body.total.value).toBe(0);
    expect(
      (await service.patch(`/user/all?user_id=${first.user_id}`, { token, body: { status: 'disabled' } })).body.matched,
    ).toBe(0);
    expect((await service.get(`/auth/session/list?user_id=${first.user_id}`, { token })).body.items).toEqual([]);
    expect((await service.get(`/user/list?deleted=true&user_id=${first.user_id}`, { token })).body.items).toHaveLength(
      1,
    );

    const second = await service.loginAs({ name: first.name, email: first.email });
    expect(second.user_id).not.toBe(first.user_id);
    expect((await service.get('/user', { token: second.token })).body).toMatchObject({ roles: [], permissions: [] });
    for (const old of [
      { token: first.token, body: {} },
      { body: { token: first.token } },
      { body: { refresh_token: first.refresh_token } },
    ])
      expect((await service.post('/auth/check-token', old)).status).toBe(401);
    const restored = await service.post(`/user/${first.user_id}/restore`, { token });
    expect([restored.status, restored.body.code]).toEqual([409, expect.stringMatching(/^user\.(name|email)_taken$/)]);
  });

  it('shows only with `user:read_deleted` more than that a user was deleted (Z41)', async () => {
    const { token } = service.admin;
    const by = async (name: string, permissions: string) => {
      await service.rows(`insert into roles (name, user_types, permissions) values ($1, '{system}', $2)`, [
        name,
        permissions,
      ]);
      return service.loginAs({ user_type: 'system', roles: [name] });
    };
    const [sync, archivist] = [await by('sync', '{user:read}'), await by('archivist', '{user:read,user:read_deleted}')];
    const deleter = await by('deleter', '{user:read,user:delete}');
    const users = [];
    for (const first_name of ['Ada', 'Grace', 'Joan']) users.push(await service.createUser({ first_name }));
    const [first, second, third] = users.map(({ user_id }) => user_id);
    for (const user_id of [second, third, first])
      expect((await service.delete(`/user/${user_id}`, { token })).status).toBe(204);
    const list = async (login: { token: string }, query: string) => {
      const { status, body } = await service.get(`/user/list?deleted=true&${query}`, login);
      return status === 200 ? body.items : [status, body.code, body.errors?.[0]?.params ?? body.errors?.[0]?.code];
    };
    const fields = ['carrier_id', 'created_at', 'deleted_at', 'user_id', 'user_type', 'version'];
    const of = `user_id_in=${first},${second},${third}`;
    for (const login of [sync, deleter])
      for (const item of await list(login, of)) expect(Object.keys(item).sort()).toEqual(fields);
    expect((await list(archivist, `${of}&first_name=Ada`))[0]).toMatchObject({ user_id: first, first_name: 'Ada' });
    // A nightly copy reads what was deleted since its last run, in order.
    const ids = async (login: { token: string }, query: string) =>
      (await list(login, query)).map(({ user_id }: { user_id: string }) => user_id);
    expect(await ids(sync, `${of}&order_by=deleted_at&order_dir=asc`)).toEqual([second, third, first]);
    const [{ deleted_at }] = await list(sync, `user_id=${third}`);
    expect(await ids(sync, `${of}&deleted_at_gte=${deleted_at}&order_by=deleted_at&order_dir=asc`)).toEqual([
      third,
      first,
    ]);
    const { body } = await service.get(`/user/list?deleted=true&${of}&order_by=deleted_at&per_page=2`, sync);
    expect(await ids(sync, `${of}&order_by=deleted_at&per_page=2&cursor=${body.next_cursor}`)).toEqual([second]);
    const denied = [403, 'access.denied', { permission: 'user:read_deleted' }];
    const hidden = ['name=a', 'email_like=ada', 'q=ada', 'attributes.tier=gold', 'status=active', 'order_by=name'];
    for (const query of [...hidden, 'role=x', 'created_by=x&order_by=last_login_at', 'online=true&unknown=1'])
      expect([query, ...(await list(sync, query))]).toEqual([query, ...denied]);
    for (const query of [
      `user_type=carrier`,
      'carrier_id=c1',
      'created_at_gt=2020-01-01T00:00:00Z',
      'order_by=carrier_id',
    ])
      expect((await list(sync, query)).length).toBeGreaterThan(0);
    expect(await list(sync, 'unknown=1')).toEqual([400, 'request.invalid', 'parameter.unknown']);
    // Only deleted users have the time.
    const { status } = await service.get('/user/list?deleted_at_gt=2020-01-01T00:00:00Z', { token });
    expect(status).toBe(400);
  });

  it('removes every value of a purged user, and keeps ids and event types (Z19)', async () => {
    const { token } = service.admin;
    const user = await service.loginAs({ first_name: 'İlke Unmistakable', attributes: { note: 'unmistakable' } });
    await service.patch(`/user/${user.user_id}`, { token, body: { last_name: 'Unmistakable' } });
    await service.post('/auth/reset_email', { body: { email: user.email } });
    await service.mailbox.take(user.email, /auth\/reset/);
    const before = user.email.split('@')[0];
    const filters = [
      `email=${user.email}`,
      `name_in=unknown,${user.name.toUpperCase()}`,
      'q=Unmistakable+x',
      'last_name=unmistakable',
      `email_like=${before}@`,
      `attributes.mail=${user.email}`,
      `first_name_in=${encodeURIComponent('x,İlke Unmistakable')}`,
    ];
    for (const filter of [...filters, 'carrier_id=unrelated', 'first_name=Some'])
      expect((await service.patch(`/user/all?${filter}`, { token, body: { locale: 'de' } })).status).toBe(200);
    expect((await service.delete(`/user/${user.user_id}?purge=true`, { token })).status).toBe(204);

    const left: string[] = [];
    for (const name of await tableNames(service)) {
      const found = await service.rows(`select 1 from ${name} t where t::text ilike any($1)`, [
        [`%${user.name}%`, `%${user.email}%`, '%unmistakable%'],
      ]);
      if (found.length > 0) left.push(name);
    }
    expect(left).toEqual([]);
    const asked = (await service.get('/user/operation/list?per_page=9', { token })).body.items.reverse();
    const kept = asked.map(
      ({ request }: { request: { filters: Record<string, string> } }) => Object.values(request.filters)[0],
    );
    expect(kept).toEqual([...filters.map(() => '(erased)'), 'unrelated', 'Some']);
    const bo = await service.createUser({ name: 'bo.1', email: 'bo@example.com', first_name: 'Bo', last_name: 'Li' });
    const others = ['q=bobby', 'last_name=Lim', 'name_in=bob.12,xbo.1', 'email_like=bo1@'];
    const theirs = ['q=x,bo', 'last_name=li', 'name_in=a,bo.1', 'email_like=bo@'];
    for (const filter of [...others, ...theirs])
      expect((await service.patch(`/user/all?${filter}`, { token, body: { locale: 'fr' } })).status).toBe(200);
    expect((await service.delete(`/user/${bo.user_id}?purge=true`, { token })).status).toBe(204);
    const last = (await service.get('/user/operation/list?per_page=8', { token })).body.items.reverse();
    expect(last.map(({ request }: { request: { filters: object } }) => Object.values(request.filters)[0])).toEqual([
      ...others.map((filter) => filter.split('=')[1]),
      ...theirs.map(() => '(erased)'),
    ]);
    const events = await service.get(`/audit/list?target_id=${user.user_id}`, { token });
    expect(events.body.items.map(({ event_type }: { event_type: string }) => event_type)).toEqual(
      expect.arrayContaining(['user.created', 'user.purged']),
    );
  });
});
