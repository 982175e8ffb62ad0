import { createHash, randomUUID } from 'node:crypto';
import { ApiKeysRepository } from '../../src/api-keys/api-keys.repository';
import { createKey, inSeconds, type TestKey } from '../support/keys';
import { until } from '../support/until';
import { type TestLogin, TestService } from '../support/service';

const day = 86_400;

describe('API keys', () => {
  let service: TestService;
  let admin: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
    await service.rows(
      `insert into roles (name, user_types, permissions) values ('key_maker', '{carrier}', '{user:read,key:manage}')`,
    );
  });
  afterAll(() => service.close());

  const rowOf = async (key_id: string) => (await service.rows('select * from keys where key_id = $1', [key_id]))[0];
  const eventsOf = (key_id: string) =>
    service.rows(
      `
        select event_type, actor_id, actor_type, target_type, carrier_id, changes
        from events
        where target_id = $1
        order by event_id`,
      [key_id],
    );
  const agedBy = (key_id: string, seconds: number) =>
    service.rows(`update keys set last_used_at = last_used_at - $2 * interval '1 second' where key_id = $1`, [
      key_id,
      seconds,
    ]);

  it('shows a key once with its permissions, and stores only its SHA-256', async () => {
    const expires_at = inSeconds(30 * day);
    const body = {
      name: 'Abrechnung é',
      permissions: ['user:read', 'voip:call'],
      expires_at,
      carrier_scope: ['c1', 'c2'],
    };
    const { status, body: made } = await service.post('/auth/key/create', { token: admin.token, body });
    expect(status).toBe(201);
    const { key, key_id, created_at, ...rest } = made;
    expect(key).toMatch(/^cik_[A-Za-z0-9_-]{43}$/);
    expect(Date.parse(created_at)).toBeGreaterThan(Date.now() - 60_000);
    const unused = { last_used_at: null, last_used_ip: null, revoked_at: null, revoked_by: null, suspended_at: null };
    expect(rest).toEqual({
      ...body,
      user_type: 'system',
      carrier_id: null,
      active: true,
      created_by: admin.user_id,
      ...unused,
    });
    expect(await rowOf(key_id)).toMatchObject({ token_hash: createHash('sha256').update(key).digest() });
    const listed = await service.get(`/auth/key/list?key_id=${key_id}`, admin);
    expect(listed.body.items).toEqual([{ key_id, created_at, ...rest }]);
    const changes = {
      name: { after: body.name },
      permissions: { after: body.permissions },
      carrier_scope: { after: body.carrier_scope },
      expires_at: { after: expires_at },
    };
    const event = {
      event_type: 'key.created',
      actor_id: admin.user_id,
      actor_type: 'user',
      target_type: 'key',
      carrier_id: null,
      changes,
    };
    expect(await eventsOf(key_id)).toEqual([event]);
  });

  it('accepts a key in either header, within its permissions only', async () => {
    const { user_id } = await service.createUser();
    const { key } = await createKey(service, ['user:read', 'user:update']);
    for (const headers of [
      { authorization: `Bearer ${key}` },
      { 'x-auth-token': key },
      { authorization: `Bearer ${key}`, 'x-auth-token': key },
    ])
      expect((await service.get(`/user/${user_id}`, { headers: headers as never })).status).toBe(200);
    expect((await service.patch(`/user/${user_id}`, { token: key, body: { locale: 'de' } })).body.locale).toBe('de');
    expect(
      (await service.patch(`/user/all?user_id=${user_id}`, { token: key, body: { locale: 'en' } })).body.changed,
    ).toBe(1);
    for (const [method, url] of [
      ['DELETE', `/user/${user_id}`],
      ['DELETE', `/user/all?user_id=${user_id}`],
      ['GET', '/user/list?deleted=true&name=ada'],
      ['GET', '/audit/list'],
      ['GET', '/role/list'],
      ['GET', '/auth/key/list'],
      ['GET', '/user/export'],
      ['GET', '/auth/session/list'],
    ] as const) {
      const { status, body } = await service.send(method, url, { token: key });
      expect([url, status, body.code]).toEqual([url, 403, 'access.denied']);
    }
  });

  it.each<[title: string, field: string, value: unknown, code: string]>([
    ['an empty name', 'name', '', 'field.too_short'],
    ['too long a name', 'name', 'x'.repeat(101), 'field.too_long'],
    ['a name of two lines', 'name', 'two\nlines', 'field.malformed'],
    ['no name', 'name', undefined, 'field.required'],
    ['an empty list', 'permissions', [], 'field.too_few'],
    ['201 permissions', 'permissions', Array.from({ length: 201 }, (_, index) => `a:b${index}`), 'field.too_many'],
    ['a permission twice', 'permissions', ['user:read', 'user:read'], 'field.malformed'],
    ['a module alone', 'permissions', ['user'], 'field.malformed'],
    ['all of a module', 'permissions', ['user:*'], 'field.malformed'],
    ['a line end', 'permissions', ['user:read\n'], 'field.malformed'],
    ['a long permission', 'permissions', [`a:${'b'.repeat(128)}`], 'field.too_long'],
    ['a text for the list', 'permissions', '*', 'field.wrong_type'],
    ['no permissions', 'permissions', undefined, 'field.required'],
    ['no expiry', 'expires_at', undefined, 'field.required'],
    ['null as expiry', 'expires_at', null, 'field.wrong_type'],
    ['a day that does not exist', 'expires_at', '2030-02-30T00:00:00Z', 'field.malformed'],
    ['a day without a time', 'expires_at', '2030-02-01', 'field.malformed'],
    ['infinity', 'expires_at', 'infinity', 'field.malformed'],
    ['an expiry a second ago', 'expires_at', inSeconds(-1), 'field.not_allowed'],
    ['the year 0', 'expires_at', '0000-01-01T00:00:00Z', 'field.not_allowed'],
    ['the year 9999', 'expires_at', '9999-12-31T23:59:59Z', 'field.not_allowed'],
    ['more than a year', 'expires_at', inSeconds(367 * day), 'field.not_allowed'],
    ['a carrier of no form', 'carrier_scope', ['a b'], 'field.malformed'],
    ['a key chosen by the caller', 'key', 'cik_mine', 'field.unknown'],
    ['another maker', 'created_by', randomUUID(), 'field.unknown'],
  ])('creates no key with %s', async (_title, field, value, code) => {
    const count = () => service.rows('select count(*) from keys');
    const before = await count();
    const body = { name: 'machine', permissions: ['user:read'], expires_at: inSeconds(day), [field]: value };
    const answer = await service.post('/auth/key/create', { token: admin.token, body });
    const [error] = (answer.body.errors ?? []) as { pointer: string; code: string }[];
    expect([answer.status, error?.pointer, error?.code]).toEqual([400, `/${field}`, code]);
    expect(await count()).toEqual(before);
  });

  it('expires a key after at most a year, to the minute, in any time zone', async () => {
    const { body } = await service.post('/auth/key/create', {
      token: admin.token,
      body: {
        name: 'a',
        permissions: Array.from({ length: 200 }, (_, index) => `module${index}:do`),
        expires_at: inSeconds(365 * day - 60),
      },
    });
    expect(body.permissions).toHaveLength(200);
    const later = new Date(Date.now() + day * 1_000 + 7_200_000).toISOString().replace('Z', '+02:00');
    const { key_id } = await createKey(service, ['*'], { expires_at: later });
    const [row] = await service.rows<{ expires_at: Date }>('select expires_at from keys where key_id = $1', [key_id]);
    expect(row?.expires_at.getTime()).toBe(Date.parse(later));
  });

  it('lists keys by the common list grammar, including revoked and expired ones', async () => {
    await service.rows('delete from keys');
    const keys: TestKey[] = [];
    for (const name of ['alpha', 'Beta', 'gamma', 'delta'])
      keys.push(
        await createKey(service, name === 'gamma' ? ['audit:read'] : ['user:read'], {
          name,
          expires_at: inSeconds(keys.length * 60 + 600),
        }),
      );
    const maker = await service.loginAs({ roles: ['key_maker'] });
    keys.push(await createKey(service, ['user:read'], { name: 'of a carrier' }, maker));
    const [alpha, beta] = keys as [TestKey, TestKey];
    await service.delete(`/auth/key/${alpha.key_id}`, admin);
    await service.rows(`update keys set expires_at = now() - interval '1 second' where key_id = $1`, [beta.key_id]);
    const names = async (query: string) => {
      const { status, text, body } = await service.get(
        `/auth/key/list?order_by=created_at&order_dir=asc${query}`,
        admin,
      );
      if (status !== 200) throw new Error(text);
      return (body.items as { name: string }[]).map(({ name }) => name);
    };
    expect(await names('')).toEqual(['alpha', 'Beta', 'gamma', 'delta', 'of a carrier']);
    expect(await names('&active=true')).toEqual(['gamma', 'delta', 'of a carrier']);
    expect(await names('&active_ne=true')).toEqual(['alpha', 'Beta']);
    expect(await names('&active_in=true,false')).toHaveLength(5);
    expect(await names('&revoked_at_isnull=false')).toEqual(['alpha']);
    expect(await names(`&revoked_by=${admin.user_id}`)).toEqual(['alpha']);
    expect(await names(`&expires_at_lt=${inSeconds(0)}`)).toEqual(['Beta']);
    expect(await names('&permission=audit:read')).toEqual(['gamma']);
    expect(await names('&permission_in=audit:read,user:read')).toHaveLength(5);
    expect(await names(`&created_by=${maker.user_id}`)).toEqual(['of a carrier']);
    expect(await names(`&created_by_ne=${maker.user_id}&name_like=ELT`)).toEqual(['delta']);
    expect(await names('&user_type=carrier&carrier_id=c1')).toEqual(['of a carrier']);
    expect(await names('&last_used_at_isnull=true&last_used_ip_isnull=true')).toHaveLength(5);
    for (const order_by of ['name', 'expires_at', 'last_used_at', 'created_at']) {
      const seen: string[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const next = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
        const { body } = await service.get(`/auth/key/list?order_by=${order_by}&per_page=2${next}`, admin);
        seen.push(...(body.items as TestKey[]).map(({ key_id }) => key_id));
        cursor = body.next_cursor as string | null;
      }
      expect([...seen].sort()).toEqual(keys.map(({ key_id }) => key_id).sort());
    }
    for (const query of ['token_hash=x', 'key=x', 'key_isnull=true', 'order_by=token_hash', 'name='])
      expect((await service.get(`/auth/key/list?${query}`, admin)).status).toBe(400);
  });

  it('revokes a key once, with one event, despite parallel and repeated requests', async () => {
    const { key_id, key } = await createKey(service, ['user:read']);
    const other = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const answers = await Promise.all(Array.from({ length: 8 }, () => service.delete(`/auth/key/${key_id}`, admin)));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(204));
    const before = await rowOf(key_id);
    expect(before).toMatchObject({ revoked_by: admin.user_id, revoked_at: expect.any(Date) as Date });
    expect((await service.delete(`/auth/key/${key_id}`, other)).status).toBe(204);
    expect(await rowOf(key_id)).toEqual(before);
    expect((await eventsOf(key_id)).map(({ event_type, actor_id }) => [event_type, actor_id])).toEqual([
      ['key.created', admin.user_id],
      ['key.revoked', admin.user_id],
    ]);
    expect((await service.get('/user/list', { token: key })).body.code).toBe('auth.key_invalid');
    for (const id of [randomUUID(), 'all', key]) {
      const { status, body } = await service.delete(`/auth/key/${id}`, admin);
      expect([status, body.code]).toEqual([404, id.length === 36 ? 'key.not_found' : 'request.not_found']);
    }
  });

  it('records the last use and its address at most once a minute, without waiting for locks', async () => {
    const { key_id, key } = await createKey(service, ['user:read']);
    const use = (ip: string) => service.get('/user/list?count=none', { token: key, ip });
    const noted = async () =>
      (await service.get(`/auth/key/list?key_id=${key_id}`, admin)).body.items[0] as Record<string, unknown>;
    const repository = service.app.get(ApiKeysRepository, { strict: false });
    await service.rows(`
      create table writes (key_id uuid);
      create function count_writes() returns trigger language plpgsql as $$
      begin
        insert into writes values (new.key_id);
        return new;
      end $$;
      create trigger count_writes after update of last_used_ip on keys
      for each row execute function count_writes()`);
    const writes = async () => (await service.rows('select 1 from writes where key_id = $1', [key_id])).length;
    await use('192.0.2.1');
    await until(async () => (await noted())['last_used_ip'] === '192.0.2.1');
    expect(Date.parse(String((await noted())['last_used_at']))).toBeGreaterThan(Date.now() - 60_000);
    // Less than a minute later: not recorded.
    await agedBy(key_id, 50);
    await use('192.0.2.2');
    await repository.touch(key_id, '192.0.2.2');
    expect([(await noted())['last_used_ip'], await writes()]).toEqual(['192.0.2.1', 1]);
    // While another transaction locks the row: accepted, but not recorded.
    await agedBy(key_id, 20);
    const holder = await service.sql.connect();
    try {
      await holder.query('begin');
      await holder.query('select 1 from keys where key_id = $1 for update', [key_id]);
      expect((await use('192.0.2.3')).status).toBe(200);
      await repository.touch(key_id, '192.0.2.3');
    } finally {
      await holder.query('rollback');
      holder.release();
    }
    expect(await writes()).toBe(1);
    // Of many parallel requests, one writes.
    await Promise.all(Array.from({ length: 10 }, () => repository.touch(key_id, '2001:db8::4')));
    expect([(await noted())['last_used_ip'], await writes()]).toEqual(['2001:db8::4', 2]);
    await service.rows('drop function count_writes cascade; drop table writes');
  });

  it('accepts a key although its use cannot be recorded', async () => {
    const { key_id, key } = await createKey(service, ['user:read']);
    await service.rows(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
      create trigger refuse before update on keys for each row execute function refuse()`);
    expect((await service.get('/user/list', { token: key })).status).toBe(200);
    await service.rows('drop function refuse cascade');
    await service.get('/user/list', { token: key });
    await until(async () => (await rowOf(key_id))?.['last_used_at'] !== null);
  });

  it('keeps a key after its creator is disabled, deleted and purged, and finds it by its creator', async () => {
    const maker = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const { key_id, key } = await createKey(service, ['user:read'], {}, maker);
    const works = async () => (await service.get('/user/list?count=none', { token: key })).status;
    await service.patch(`/user/${maker.user_id}`, { token: admin.token, body: { status: 'disabled' } });
    expect(await works()).toBe(200);
    await service.delete(`/user/${maker.user_id}`, admin);
    expect(await works()).toBe(200);
    expect((await service.delete(`/user/${maker.user_id}?purge=true`, admin)).status).toBe(204);
    expect(await works()).toBe(200);
    const { body } = await service.get(`/auth/key/list?created_by=${maker.user_id}`, admin);
    expect(body.items).toMatchObject([{ key_id, name: 'machine', created_by: maker.user_id, active: true }]);
  });
});
