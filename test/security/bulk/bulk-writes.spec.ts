import { TestService } from '../../support/service';

describe('writes of a bulk change', () => {
  let service: TestService;
  let token: string;
  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
    for (let index = 0; index < 3; index++) await service.createUser({ carrier_id: 'c1', roles: ['carrier_user'] });
    for (let index = 0; index < 3; index++) await service.createUser({ carrier_id: 'c2', roles: ['carrier_user'] });
  });
  afterAll(() => service.close());

  const state = () => service.rows('select * from users order by user_id');
  const send = (method: string, query: string, body?: unknown, headers: Record<string, string> = {}) =>
    service.send(method, `/user/all${query}`, { token, body, headers });
  const change = { locale: 'fr' };

  it.each([
    ['a change', 'PATCH', change],
    ['a deletion', 'DELETE', undefined],
    ['disabling', 'PATCH', { status: 'disabled' }],
  ])('changes no row, session or event when one row of %s fails (B14)', async (_title, method, body) => {
    const logins = [];
    for (let index = 0; index < 4; index++) logins.push(await service.loginAs({ carrier_id: 'c14' }));
    const ids = logins.map(({ user_id }) => user_id);
    const all = async () => [
      await state(),
      await service.rows('select * from sessions order by session_id'),
      await service.rows('select count(*) from events'),
    ];
    // The third row cannot be written, as after a concurrent change; or its event cannot, after all
    // rows.
    for (const write of ['users update user_id', 'events insert target_id']) {
      const [table, verb, column] = write.split(' ');
      await service.rows(`create function refuse() returns trigger language plpgsql as $$ begin
        if new.${column} = '${ids[2]}' then raise exception 'no' using errcode = '40001'; end if; return new; end $$`);
      await service.rows(`create trigger refuse before ${verb} on ${table} for each row execute function refuse()`);
      const before = await all();
      const failed = await send(method, '?carrier_id=c14', body);
      expect([table, failed.status, failed.body.code]).toEqual([table, 503, 'service.database_unavailable']);
      expect(await all()).toEqual(before);
      for (const login of logins) expect((await service.get('/user', login)).status).toBe(200);
      await service.rows(`drop trigger refuse on ${table}; drop function refuse()`);
    }
    expect((await send(method, '?carrier_id=c14', body)).body.changed).toBe(4);
    if (method === 'PATCH') await send('DELETE', '?carrier_id=c14');
  });

  it('rejects the second change of the same version with If-Match, and applies it without (B16)', async () => {
    const { user_id } = await service.createUser();
    const read = await service.get(`/user/${user_id}`, { token });
    const etag = String(read.headers['etag']);
    const patch = (first_name: string, headers: Record<string, string> = {}) =>
      service.patch(`/user/${user_id}`, { token, body: { first_name }, headers });
    const both = await Promise.all(
      ['Ada', 'Eve', 'Bob', 'Joe', 'Ann'].map((name) => patch(name, { 'if-match': etag })),
    );
    expect(both.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412, 412]);
    const winner = both.find(({ status }) => status === 200);
    expect((await service.get(`/user/${user_id}`, { token })).body.first_name).toBe(winner?.body.first_name);
    expect((await service.delete(`/user/${user_id}`, { token, headers: { 'if-match': etag } })).body.code).toBe(
      'user.version_mismatch',
    );
    for (const tag of ['"0"', 'W/"2"', '2', '"x"', '', '"', ','])
      expect([tag, (await patch('Max', { 'if-match': tag })).status]).toEqual([tag, 412]);
    expect((await patch('Max', { 'if-match': `"99", ${String(winner?.headers['etag'])}` })).status).toBe(200);
    expect((await patch('Eva', { 'if-match': '*' })).status).toBe(200);
    expect((await patch('Leo')).body).toMatchObject({ first_name: 'Leo', version: 5 });
    expect((await service.get(`/user/${user_id}`, { token })).headers['etag']).toBe('"5"');
  });

  it('ends the sessions of a thousand users in the transaction of the change (B17)', async () => {
    await service.rows(`
      with new as (
        insert into users (user_id, user_type, name, email, carrier_id, status)
        select gen_random_uuid(), 'carrier', 'many' || n, 'many' || n || '@example.com', 'c17', 'active'
        from generate_series(1, 1000) n
        returning *
      )
      insert into sessions (
        session_id, user_id, user_type, carrier_id, refresh_token_hash,
        refreshed_at, expires_at, absolute_expires_at
      )
      select
        gen_random_uuid(), user_id, user_type, carrier_id, '',
        now(), now() + interval '1 hour', now() + interval '1 hour'
      from new, generate_series(1, 2)`);
    const login = await service.loginAs({ carrier_id: 'c17' });
    const live = () => service.rows(`select 1 from sessions where carrier_id = 'c17' and ended_at is null`);
    expect(await live()).toHaveLength(2_001);
    const answer = await send('PATCH', '?carrier_id=c17', { status: 'disabled' });
    expect(answer.body).toMatchObject({ matched: 1_001, changed: 1_001 });
    expect(await live()).toEqual([]);
    expect((await service.get('/user', login)).body.code).toBe('auth.token_invalid');
    expect((await service.post('/auth/check-token', { body: { refresh_token: login.refresh_token } })).status).toBe(
      401,
    );
    const end = `
      select distinct ended_at, users.updated_at
      from sessions
      join users using (user_id)
      where sessions.carrier_id = $1`;
    const times = await service.rows(end, ['c17']);
    expect(times).toHaveLength(1);
    expect(times[0]?.['ended_at']).toEqual(times[0]?.['updated_at']);
  });
});
