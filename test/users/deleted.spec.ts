import { eventCatalogue } from '../../src/audit/event-catalogue';
import { type UserField, userFields, userFieldsWith } from '../../src/users/user-fields';
import type { SessionsService } from '../../src/auth/sessions/sessions.service';
import { codeOf, password, type TestLogin, TestService } from '../support/service';
import { changeSession } from '../support/data/session-rows';
import { tableNames } from '../support/contract/tables';

const fields = Object.entries<UserField>(userFields);

describe('deleted users', () => {
  let service: TestService;
  let admin: TestLogin;
  let operator: TestLogin & { name: string };
  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
    await service.rows(`insert into roles (name, user_types, permissions) values
      ('clerk', '{system}', '{user:read}'), ('gone', '{system}', '{user:read}'), ('sync', '{system}', '{user:read}'),
      ('deleter', '{system}', '{user:read,user:delete}'), ('archivist', '{system}', '{user:read,user:read_deleted}')`);
    operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
  });
  afterAll(() => service.close());

  const patch = (url: string, body: object, { token }: Pick<TestLogin, 'token'> = admin) =>
    service.patch(url, { token, body });
  const remove = async (user_id: string, query = '') =>
    expect((await service.delete(`/user/${user_id}${query}`, admin)).status).toBe(204);
  const restore = (user_id: string, login: TestLogin = admin) => service.post(`/user/${user_id}/restore`, login);
  const rowOf = async (user_id: string) => (await service.rows('select * from users where user_id = $1', [user_id]))[0];

  it('are hidden, and pass nothing to a user with the same name and address (Z19)', async () => {
    const first = await service.loginAs({ roles: ['carrier_administrator'] });
    const { user_id, name, email } = first;
    await remove(user_id);
    expect(codeOf(await service.get(`/user/${user_id}`, admin))).toBe('404 user.not_found');
    expect(codeOf(await patch(`/user/${user_id}`, { first_name: 'x' }))).toBe('404 user.not_found');
    for (const query of [`user_id=${user_id}`, `name=${name}`, `q=${name}`])
      expect((await service.get(`/user/list?${query}`, admin)).body.total.value).toBe(0);
    expect((await patch(`/user/all?user_id=${user_id}`, { status: 'disabled' })).body.matched).toBe(0);
    expect((await service.get(`/auth/session/list?user_id=${user_id}`, admin)).body.items).toEqual([]);
    expect((await service.get(`/user/list?deleted=true&user_id=${user_id}`, admin)).body.items).toHaveLength(1);

    const second = await service.loginAs({ name, email });
    expect(second.user_id).not.toBe(user_id);
    expect((await service.get('/user', second)).body).toMatchObject({ roles: [], permissions: [] });
    const { token, refresh_token } = first;
    for (const old of [{ token, body: {} }, { body: { token } }, { body: { refresh_token } }])
      expect((await service.post('/auth/check-token', old)).status).toBe(401);
    expect(codeOf(await restore(user_id))).toMatch(/^409 user\.(name|email)_taken$/);
  });

  it('show more than their deletion only with `user:read_deleted` (Z41)', async () => {
    const loginWith = (role: string) => service.loginAs({ user_type: 'system', roles: [role] });
    const [sync, deleter] = [await loginWith('sync'), await loginWith('deleter')];
    const archivist = await loginWith('archivist');
    const ids: string[] = [];
    for (const first_name of ['Ada', 'Grace', 'Joan']) ids.push((await service.createUser({ first_name })).user_id);
    const [first = '', second = '', third = ''] = ids;
    for (const user_id of [second, third, first]) await remove(user_id);
    const list = async (login: TestLogin, query: string) => {
      const { status, body } = await service.get(`/user/list?deleted=true&${query}`, login);
      return status === 200 ? body.items : [status, body.code, body.errors?.[0]?.params ?? body.errors?.[0]?.code];
    };
    const shown = ['carrier_id', 'created_at', 'deleted_at', 'user_id', 'user_type', 'version'];
    const these = `user_id_in=${ids.join()}`;
    for (const login of [sync, deleter])
      for (const item of await list(login, these)) expect(Object.keys(item).sort()).toEqual(shown);
    expect(await list(archivist, `${these}&first_name=Ada`)).toMatchObject([{ user_id: first, first_name: 'Ada' }]);

    // A nightly copy reads what was deleted since its last run, in order.
    const idsOf = async (query: string) => (await list(sync, query)).map((item: { user_id: string }) => item.user_id);
    const inOrder = `${these}&order_by=deleted_at&order_dir=asc`;
    expect(await idsOf(inOrder)).toEqual([second, third, first]);
    const [{ deleted_at }] = await list(sync, `user_id=${third}`);
    expect(await idsOf(`${inOrder}&deleted_at_gte=${deleted_at}`)).toEqual([third, first]);
    const { body } = await service.get(`/user/list?deleted=true&${inOrder}&per_page=2`, sync);
    expect(await idsOf(`${inOrder}&per_page=2&cursor=${body.next_cursor}`)).toEqual([first]);

    const denied = [403, 'access.denied', { permission: 'user:read_deleted' }];
    const hidden = ['name=a', 'email_like=ada', 'q=ada', 'attributes.tier=gold', 'status=active', 'order_by=name'];
    for (const query of [...hidden, 'role=x', 'created_by=x&order_by=last_login_at', 'online=true&unknown=1'])
      expect([query, ...(await list(sync, query))]).toEqual([query, ...denied]);
    for (const query of ['user_type=carrier', 'carrier_id=c1', 'created_at_gt=2020-01-01T00:00:00Z'])
      expect((await list(sync, query)).length).toBeGreaterThan(0);
    expect(await list(sync, 'unknown=1')).toEqual([400, 'request.invalid', 'parameter.unknown']);
    // Only deleted users have the time.
    expect((await service.get('/user/list?deleted_at_gt=2020-01-01T00:00:00Z', admin)).status).toBe(400);
  });

  describe('restored', () => {
    async function deleted(roles: string[]): Promise<string> {
      const { user_id } = await service.createUser({ user_type: 'system', roles });
      await remove(user_id);
      return user_id;
    }
    /** Returns a login of the operator that authenticated some minutes ago. */
    async function stale(): Promise<TestLogin> {
      const login = await service.login(operator.name);
      await changeSession(service, login, `auth_time = now() - interval '10 minutes'`);
      return login;
    }

    it('are not users with a role that the caller may not grant, alone or among others (Z32)', async () => {
      for (const roles of [['administrator'], ['administrator', 'clerk']]) {
        const user_id = await deleted(roles);
        const before = await rowOf(user_id);
        expect(codeOf(await restore(user_id, operator))).toBe('403 access.protected_user');
        expect(await rowOf(user_id)).toEqual(before);
        // Control: an administrator restores the user with all roles.
        expect((await restore(user_id)).body.roles).toEqual(roles);
      }
    });

    it('are checked by the roles at the time of the deletion, with their current permissions (Z32)', async () => {
      const user_id = await deleted(['clerk']);
      await patch('/role/clerk', { permissions: ['user:read', 'user:purge'] });
      expect(codeOf(await restore(user_id, operator))).toBe('403 access.protected_user');
      await patch('/role/clerk', { permissions: ['user:read'] });
      expect((await restore(user_id, operator)).body.roles).toEqual(['clerk']);
    });

    it('lose roles that no longer exist or are closed to the user type', async () => {
      const user_id = await deleted(['clerk', 'gone', 'operator']);
      await service.rows(`delete from roles where name = 'gone'`);
      await service.rows(`update roles set user_types = '{carrier}' where name = 'clerk'`);
      expect((await restore(user_id, operator)).body.roles).toEqual(['operator']);
      const recorded = `select changes from events where event_type = 'user.restored' and target_id = $1`;
      expect(await service.rows(recorded, [user_id])).toEqual([
        { changes: { roles: { before: ['clerk', 'gone', 'operator'], after: ['operator'] } } },
      ]);
    });

    it('need a fresh authentication if they have roles, after the check of the roles (S24)', async () => {
      const old = await stale();
      const [strong, plain] = [await deleted(['administrator']), await deleted(['operator'])];
      const without = await deleted([]);
      expect(codeOf(await restore(strong, old))).toBe('403 access.protected_user');
      expect(codeOf(await restore(plain, old))).toBe('401 auth.reauthentication_required');
      expect((await rowOf(plain))?.['deleted_at']).not.toBeNull();
      expect(codeOf(await restore(without, old))).toBe('200');
      expect(codeOf(await restore(plain, operator))).toBe('200');
    });
  });

  describe('purged', () => {
    /** Returns the tables with a row that contains one of the texts. */
    async function tablesWith(...texts: string[]): Promise<string[]> {
      const found: string[] = [];
      for (const name of await tableNames(service)) {
        const contains = `select 1 from ${name} t where t::text ilike any($1)`;
        if ((await service.rows(contains, [texts.map((text) => `%${text}%`)])).length > 0) found.push(name);
      }
      return found;
    }

    it('leave no value in any table, except ids and event types (Z19)', async () => {
      const user = await service.loginAs({ first_name: 'İlke Unmistakable', attributes: { note: 'unmistakable' } });
      await patch(`/user/${user.user_id}`, { last_name: 'Unmistakable' });
      await service.post('/auth/reset_email', { body: { email: user.email } });
      await service.mailbox.take(user.email, /auth\/reset/);
      await patch('/user/all?last_name=unmistakable', { locale: 'de' });
      await remove(user.user_id, '?purge=true');
      expect(await tablesWith(user.name, user.email, 'unmistakable')).toEqual([]);
      const events = await service.get(`/audit/list?target_id=${user.user_id}`, admin);
      expect(events.body.items.map(({ event_type }: { event_type: string }) => event_type)).toEqual(
        expect.arrayContaining(['user.created', 'user.purged']),
      );
    });

    it('leave no address of a login or failed login in any table (Z19)', async () => {
      const ip = '198.51.100.77';
      const user = await service.createUser();
      await service.post('/auth/login', { body: { login: user.name, password: `${password}!` }, ip });
      const { body } = await service.post('/auth/login', { body: { login: user.name, password }, ip });
      const refresh = (refresh_token: string) => service.post('/auth/check-token', { body: { refresh_token }, ip });
      const next = await refresh(body.refresh_token);
      await refresh(next.body.refresh_token);
      expect((await refresh(body.refresh_token)).status).toBe(401);
      await service.mailbox.take(user.email, /198\.51\.100\.77/);
      await service.until(async () => (await service.rows('select from graphile_worker.jobs')).length === 0);
      // Retention removes the session, whose events stay.
      const long = `now() - interval '100 days'`;
      await service.rows(`update sessions set last_seen_at = ${long}, ended_at = ${long} where user_id = $1`, [
        user.user_id,
      ]);
      await service.inside<SessionsService>('SessionsService').removeOld();
      expect(await service.rows('select from sessions where user_id = $1', [user.user_id])).toEqual([]);
      expect(await tablesWith(ip)).toContain('public.events');
      await remove(user.user_id, '?purge=true');
      expect(await tablesWith(ip)).toEqual([]);
      const changes = await service.rows('select from events where changes::text like $1', [`%${user.user_id}%`]);
      expect(changes).toEqual([]);
    });

    it('are erased from the filters of operations that found them, and from no other filter (Z19)', async () => {
      const bo = { name: 'bo.1', email: 'bo@example.com', first_name: 'İlke', last_name: 'Li' };
      const { user_id } = await service.createUser({ ...bo, attributes: { mail: bo.email } });
      const others = ['q=bobby', 'last_name=Lim', 'name_in=bob.12,xbo.1', 'email_like=bo1@', 'carrier_id=unrelated'];
      const theirs = ['q=x,bo', 'last_name=li', 'name_in=a,BO.1', 'email_like=bo@', 'attributes.mail=bo@example.com'];
      const filters = [...others, ...theirs, 'first_name_in=x,İlke'];
      for (const filter of filters) {
        const [name, value = ''] = filter.split('=');
        expect((await patch(`/user/all?${name}=${encodeURIComponent(value)}`, { locale: 'fr' })).status).toBe(200);
      }
      await remove(user_id, '?purge=true');
      const { body } = await service.get(`/user/operation/list?per_page=${filters.length}`, admin);
      const kept = body.items.map(({ request }: { request: { filters: object } }) => Object.values(request.filters)[0]);
      expect(kept.reverse()).toEqual([
        ...others.map((filter) => filter.split('=')[1]),
        ...filters.slice(others.length).map(() => '(erased)'),
      ]);
    });

    it('leave no personal value of any field in the tables with copies of users (Z19)', async () => {
      const { user_id } = await service.createUser();
      const marks = fields
        .filter(([, { personal }]) => personal === true)
        .map(([name, { type }]) => markOf(name, type));
      await service.rows(
        `update users set ${marks.map(({ name, value }) => `${name} = ${value}`).join(', ')} where user_id = $1`,
        [user_id],
      );
      await service.rows(
        `insert into events (event_type, actor_type, target_type, target_id, changes)
         select 'user.changed', 'system', 'user', user_id, (
           select jsonb_object_agg(key, jsonb_build_object('before', value, 'after', value))
           from jsonb_each(to_jsonb(users))
         )
         from users
         where user_id = $1`,
        [user_id],
      );
      for (const [index, name] of userFieldsWith('identifying').entries())
        await service.rows(
          `insert into operations (operation_id, kind, permission, status, actor_type, actor_id, request)
           select gen_random_uuid(), 'change', 'user:update', 'done', 'user', user_id,
             jsonb_build_object('filters', jsonb_build_object($2::text, to_jsonb(users) -> $3))
           from users
           where user_id = $1`,
          [user_id, index % 2 === 0 ? name : `${name}_like`, name],
        );
      for (const [column, text] of [
        ['user_id', 'user_id::text'],
        ['name', 'upper(name)'],
        ['email', 'email'],
        ['email', 'email_pending'],
        ['phone', 'phone'],
      ])
        await service.rows(
          `with operation as (
             insert into operations (operation_id, kind, permission, status, actor_type, actor_id, request)
             select gen_random_uuid(), 'import', 'user:import', 'done', 'user', user_id, '{}'
             from users
             where user_id = $1
             returning operation_id
           )
           insert into operation_skipped (operation_id, line, errors, cells, identities)
           select operation_id, 2, '[]', to_jsonb(users) || jsonb_build_object($2::text, ${text}), array[lower(${text})]
           from operation, users
           where user_id = $1`,
          [user_id, column],
        );
      const tables = ['users', 'user_search', 'user_tombstones', 'events', 'operations', 'operation_skipped'];
      const marked = async () => {
        const found: string[] = [];
        for (const table of [...tables, 'idempotency_keys'])
          for (const { name, text } of marks)
            if ((await service.rows(`select 1 from ${table} t where t::text ilike $1`, [`%${text}%`])).length > 0)
              found.push(`${name} in ${table}`);
        return found;
      };
      const names = marks.map(({ name }) => name);
      expect(await marked()).toEqual(
        expect.arrayContaining([
          ...['users', 'events', 'operation_skipped'].flatMap((table) => names.map((name) => `${name} in ${table}`)),
          ...userFieldsWith('identifying').map((name) => `${name} in operations`),
        ]),
      );
      await remove(user_id, '?purge=true');
      expect(await marked()).toEqual([]);
      const [kept] = await service.rows<{ changes: object }>(
        `select changes from events where target_id = $1 and event_type = 'user.changed'`,
        [user_id],
      );
      expect(Object.keys(kept?.changes ?? {}).sort()).toEqual([...eventCatalogue['user.changed'].impersonal].sort());
    });
  });
});

/** A value of a column as SQL, and the text by which it is found in any table. */
function markOf(name: string, type: UserField['type']): { name: string; value: string; text: string } {
  const number = fields.findIndex(([field]) => field === name);
  const values: Partial<Record<UserField['type'], [value: string, text: string]>> = {
    text: [`'mark-${number}-x'`, `mark-${number}-x`],
    jsonb: [`'{"note": "mark-${number}-x"}'`, `mark-${number}-x`],
    'cidr[]': [`'{203.0.113.${number}/32}'`, `203.0.113.${number}/32`],
    inet: [`'203.0.113.${number}'`, `203.0.113.${number}`],
    timestamptz: [`'19${number + 50}-06-05T00:00:00Z'`, `19${number + 50}-06-05`],
  };
  const [value, text] = values[type] ?? [];
  if (value === undefined || text === undefined) throw new Error(`Give the type ${type} a mark.`);
  return { name, value, text };
}
