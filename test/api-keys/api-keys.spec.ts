import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { ApiKeysRepository } from '../../src/access/api-keys/api-keys.repository';
import { createKey, inSeconds, type TestKey } from '../support/data/keys';
import { inTransaction, lockWaits } from '../support/locks';
import { addManyUsers, ended } from '../support/data/many-users';
import { codeOf, type TestLogin, TestService } from '../support/service';
import { tableNames } from '../support/contract/tables';
import { visiblePart } from '../support/logins/tokens';
import { until } from '../support/until';

const day = 86_400;
/** Limit of requests without a valid key. Tests send such requests from an address each. */
const perMinute = 20;

describe('an API key', () => {
  let service: TestService;
  let admin: TestLogin;
  beforeAll(async () => {
    service = await TestService.start({ REQUESTS_PER_ADDRESS_PER_MINUTE: String(perMinute) });
    ({ admin } = service);
    await service.rows(
      `insert into roles (name, user_types, permissions) values ('key_maker', '{carrier}', '{user:read,key:manage}')`,
    );
  });
  afterAll(() => service.close());

  const create = (fields: object) =>
    service.post('/auth/key/create', {
      token: admin.token,
      body: { name: 'machine', permissions: ['user:read'], expires_at: inSeconds(day), ...fields },
    });
  const use = (key: string, ip?: string) => service.get('/user/list?count=none', { token: key, ...(ip && { ip }) });
  const rowOf = async (key_id: string) => (await service.rows('select * from keys where key_id = $1', [key_id]))[0];
  const expire = ({ key_id }: TestKey) =>
    service.rows('update keys set expires_at = now() where key_id = $1', [key_id]);
  const revoke = ({ key_id }: TestKey) => service.delete(`/auth/key/${key_id}`, admin);
  const mint = () => `cik_${randomBytes(32).toString('base64url')}`;

  describe('that is created, listed and revoked', () => {
    const eventsOf = (key_id: string) =>
      service.rows(
        `
          select event_type, actor_id, actor_type, target_type, carrier_id, changes
          from events
          where target_id = $1
          order by event_id`,
        [key_id],
      );

    it('is shown once and stored only as SHA-256', async () => {
      const rights = { permissions: ['user:read', 'voip:call'], carrier_scope: ['c1', 'c2'] };
      const body = { name: 'Abrechnung é', expires_at: inSeconds(30 * day), ...rights };
      const { status, body: made } = await create(body);
      const { key, key_id, created_at, ...rest } = made;
      expect([status, key]).toEqual([201, expect.stringMatching(/^cik_[A-Za-z0-9_-]{43}$/)]);
      const unused = {
        ...{ last_used_at: null, last_used_ip: null, revoked_at: null, revoked_by: null, suspended_at: null },
        ...{ previous_until: null, previous_last_used_at: null },
      };
      const maker = { user_type: 'system', carrier_id: null, created_by: admin.user_id };
      expect(rest).toEqual({ ...body, ...maker, active: true, ...unused });
      expect(await rowOf(key_id)).toMatchObject({ token_hash: createHash('sha256').update(key).digest() });
      const listed = await service.get(`/auth/key/list?key_id=${key_id}`, admin);
      expect(listed.body.items).toEqual([{ key_id, created_at, ...rest }]);
      const changes = Object.fromEntries(Object.entries(body).map(([name, after]) => [name, { after }]));
      const actor = { actor_id: admin.user_id, actor_type: 'user' };
      expect(await eventsOf(key_id)).toEqual([
        { event_type: 'key.created', ...actor, target_type: 'key', carrier_id: null, changes },
      ]);
    });

    it('is not created with a wrong field, which the error names', async () => {
      const before = await service.rows('select count(*) from keys');
      for (const [field, value, wanted] of [
        ['name', '', 'field.too_short'],
        ['name', 'x'.repeat(101), 'field.too_long'],
        ['name', 'two\nlines', 'field.malformed'],
        ['permissions', [], 'field.too_few'],
        ['permissions', Array.from({ length: 201 }, (_, index) => `a:b${index}`), 'field.too_many'],
        ['permissions', ['user:read', 'user:read'], 'field.malformed'],
        ['permissions', ['user:*'], 'field.malformed'],
        ['permissions', [`a:${'b'.repeat(128)}`], 'field.too_long'],
        ['permissions', undefined, 'field.required'],
        ['expires_at', undefined, 'field.required'],
        ['expires_at', '2030-02-30T00:00:00Z', 'field.malformed'],
        ['expires_at', inSeconds(-1), 'field.not_allowed'],
        ['expires_at', '9999-12-31T23:59:59Z', 'field.not_allowed'],
        ['expires_at', inSeconds(367 * day), 'field.not_allowed'],
        ['carrier_scope', ['a b'], 'field.malformed'],
        ['key', 'cik_mine', 'field.unknown'],
      ] as const) {
        const { status, body } = await create({ [field]: value });
        const [error] = (body.errors ?? []) as { pointer: string; code: string }[];
        expect([value, status, error?.pointer, error?.code]).toEqual([value, 400, `/${field}`, wanted]);
      }
      expect(await service.rows('select count(*) from keys')).toEqual(before);
    });

    it('has up to 200 permissions and a year, to the second of any time zone', async () => {
      const permissions = Array.from({ length: 200 }, (_, index) => `module${index}:do`);
      const expires_at = inSeconds(364 * day).replace('Z', '+02:00');
      const { body } = await create({ permissions, expires_at });
      expect(body.permissions).toHaveLength(200);
      expect((await rowOf(body.key_id))?.['expires_at']).toEqual(new Date(expires_at));
    });

    it('is listed by the common list grammar, also if it is revoked or expired', async () => {
      await service.rows('delete from keys');
      const maker = await service.loginAs({ roles: ['key_maker'] });
      const keys = [
        await createKey(service, ['user:read'], { name: 'alpha' }),
        await createKey(service, ['user:read'], { name: 'Beta' }),
        await createKey(service, ['audit:read'], { name: 'gamma' }),
        await createKey(service, ['user:read'], { name: 'delta' }, maker),
      ] as const;
      await revoke(keys[0]);
      await expire(keys[1]);
      const list = (query: string) => service.get(`/auth/key/list?${query}`, admin);
      const names = async (query: string) => {
        const { body } = await list(`order_by=created_at&order_dir=asc&${query}`);
        return (body.items as { name: string }[]).map(({ name }) => name).join(' ');
      };
      const all = 'alpha Beta gamma delta';
      for (const [query, found] of [
        ['', all],
        ['active=true', 'gamma delta'],
        ['active_ne=true', 'alpha Beta'],
        ['active_in=true,false', all],
        ['revoked_at_isnull=false', 'alpha'],
        [`revoked_by=${admin.user_id}`, 'alpha'],
        [`expires_at_lt=${inSeconds(0)}`, 'Beta'],
        ['permission=audit:read', 'gamma'],
        ['permission_in=audit:read,user:read', all],
        [`created_by=${maker.user_id}`, 'delta'],
        [`created_by_ne=${maker.user_id}&name_like=AMM`, 'gamma'],
        ['user_type=carrier&carrier_id=c1', 'delta'],
        ['last_used_at_isnull=true&last_used_ip_isnull=true', all],
      ] as const)
        expect([query, await names(query)]).toEqual([query, found]);
      for (const order_by of ['name', 'expires_at', 'last_used_at', 'created_at']) {
        const { items, next_cursor } = (await list(`order_by=${order_by}&per_page=3`)).body;
        const rest = (await list(`order_by=${order_by}&per_page=3&cursor=${encodeURIComponent(next_cursor)}`)).body;
        const ids = new Set([...items, ...rest.items].map(({ key_id }: TestKey) => key_id));
        expect([ids, rest.next_cursor]).toEqual([new Set(keys.map(({ key_id }) => key_id)), null]);
      }
      for (const query of ['token_hash=x', 'key=x', 'key_isnull=true', 'order_by=token_hash', 'name='])
        expect([query, (await list(query)).status]).toEqual([query, 400]);
    });

    it('is revoked once, with one event, despite parallel and repeated requests', async () => {
      const { key_id, key } = await createKey(service, ['user:read']);
      const other = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
      const answers = await Promise.all(Array.from({ length: 4 }, () => service.delete(`/auth/key/${key_id}`, admin)));
      expect(answers.map(({ status }) => status)).toEqual(Array(4).fill(204));
      const before = await rowOf(key_id);
      expect(before).toMatchObject({ revoked_by: admin.user_id, revoked_at: expect.any(Date) });
      expect((await service.delete(`/auth/key/${key_id}`, other)).status).toBe(204);
      expect(await rowOf(key_id)).toEqual(before);
      expect((await eventsOf(key_id)).map(({ event_type, actor_id }) => [event_type, actor_id])).toEqual([
        ['key.created', admin.user_id],
        ['key.revoked', admin.user_id],
      ]);
      for (const [id, wanted] of [
        [randomUUID(), '404 key.not_found'],
        ['all', '404 request.not_found'],
        [key, '404 request.not_found'],
      ] as const)
        expect(codeOf(await service.delete(`/auth/key/${id}`, admin))).toBe(wanted);
    });

    it('stays after its creator is disabled, deleted and purged, and is found by the creator', async () => {
      const maker = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
      const { key_id, key } = await createKey(service, ['user:read'], {}, maker);
      const url = `/user/${maker.user_id}`;
      for (const remove of [
        () => service.patch(url, { token: admin.token, body: { status: 'disabled' } }),
        () => service.delete(url, admin),
        () => service.delete(`${url}?purge=true`, admin),
      ]) {
        expect((await remove()).status).toBeLessThan(300);
        expect((await use(key)).status).toBe(200);
      }
      const { body } = await service.get(`/auth/key/list?created_by=${maker.user_id}`, admin);
      expect(body.items).toMatchObject([{ key_id, name: 'machine', created_by: maker.user_id, active: true }]);
    });
  });

  describe('as a token', () => {
    it('is rejected as an access or refresh token like any bad token, and beside another token (J8, J19)', async () => {
      const { key } = await createKey(service, ['*']);
      const send = async (token: string) => [
        await service.post('/auth/check-token', { body: { token } }),
        await service.post('/auth/check-token', { token, body: {} }),
        await service.post('/auth/check-token', { body: { refresh_token: token } }),
        await service.post('/auth/logout', { token, body: {} }),
        await service.post('/auth/logout', { body: { refresh_token: token } }),
      ];
      const answers = await send(key);
      expect(answers.map(codeOf)).toEqual(answers.map(() => '401 auth.token_invalid'));
      expect(answers.map(visiblePart)).toEqual((await send('garbage')).map(visiblePart));
      for (const [older, status] of [
        [key, 200],
        [admin.token, 401],
        ['', 401],
      ] as const) {
        const headers = { 'x-auth-token': older };
        expect((await service.get('/user/list', { token: key, headers, ip: '203.0.113.9' })).status).toBe(status);
      }
    });

    it('is rejected once revoked or expired, like anything that looks like a key (J22, S7)', async () => {
      const keys = [await createKey(service, ['*']), await createKey(service, ['*']), await createKey(service, ['*'])];
      for (const { key } of keys) expect((await use(key)).status).toBe(200);
      const [revoked, expired, { key }] = keys as [TestKey, TestKey, TestKey];
      await revoke(revoked);
      await expire(expired);
      const [secret, hash] = [key.slice(4), createHash('sha256').update(key).digest()];
      const other = `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`;
      const forms = [
        ...[revoked.key, expired.key, mint(), 'cik_', 'cik_garbage', `cik_cik_${secret}`, `${key}=`, `${key}x`, other],
        ...[key.slice(0, -1), `${key}.${key}`, `cik_%00${secret}`, `cik_${hash.toString('base64url')}`],
        ...[`cik_${hash.toString('hex')}`, `cik_'or'1'='1`, `cik_${'A'.repeat(4_000)}`],
        ...[secret, `CIK_${secret}`, `cik-${secret}`, key.toUpperCase()],
      ];
      const wanted = { key: await use('cik_x', '192.0.2.9'), token: await use('garbage', '192.0.2.9') };
      expect([codeOf(wanted.key), codeOf(wanted.token)]).toEqual(['401 auth.key_invalid', '401 auth.token_invalid']);
      expect(wanted.key.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
      expect(wanted.key.text).not.toContain('Log in again');
      for (const [index, form] of forms.entries())
        for (const headers of [{ authorization: `Bearer ${form}` }, { 'x-auth-token': form }]) {
          const request = { headers: headers as never, ip: `198.51.100.${index + 1}` };
          const answer = visiblePart(await service.get('/user/list?count=none', request));
          const expected = form.startsWith('cik_') ? wanted.key : wanted.token;
          expect([form, answer]).toEqual([form, visiblePart(expected)]);
        }
      expect((await use(key)).status).toBe(200);
      // An expired key can be revoked and still does not work.
      expect((await revoke(expired)).status).toBe(204);
    });

    it('limits guesses per address, but not valid keys (S15)', async () => {
      const statuses = [];
      for (let index = 0; index < perMinute + 2; index++) statuses.push((await use(mint(), '203.0.113.7')).status);
      expect(statuses).toEqual([...Array<number>(perMinute).fill(401), 429, 429]);
      const { key } = await createKey(service, ['user:read']);
      expect((await use(key, '203.0.113.7')).status).toBe(200);
    });

    it('is never in tables, lists, events or errors (S22)', async () => {
      const { key, key_id } = await createKey(service, ['*']);
      const hash = createHash('sha256').update(key).digest();
      await service.get(`/user/list?q=${key}`, { token: key });
      const headers = { 'idempotency-key': key };
      await service.patch('/user/all?name=unknown', { token: key, body: { locale: 'de' }, headers });
      await until(async () => (await rowOf(key_id))?.['last_used_at'] !== null);
      for (const name of await tableNames(service)) {
        const containing = async (text: string) =>
          (await service.rows(`select 1 from ${name} as row where position($1 in row::text) > 0`, [text])).length;
        const found = [name, await containing(key.slice(4)), await containing(hash.toString('hex'))];
        expect(found).toEqual([name, 0, name === 'public.keys' ? 1 : 0]);
      }
      for (const url of [`/auth/key/list?key_id=${key_id}`, `/audit/list?target_id=${key_id}`]) {
        const { status, text } = await service.get(url, { token: key });
        expect(status).toBe(200);
        for (const secret of [key.slice(4), hash.toString('hex'), hash.toString('base64'), 'token_hash'])
          expect(text).not.toContain(secret);
      }
      expect((await create({ permissions: [key] })).text).not.toContain(key);
    });
  });

  describe('in use', () => {
    it('records its last use and address at most once a minute, and works if that fails', async () => {
      const { key_id, key } = await createKey(service, ['user:read']);
      const { touch } = service.inside<ApiKeysRepository>('ApiKeysRepository');
      const noted = async () =>
        (await service.get(`/auth/key/list?key_id=${key_id}`, admin)).body.items[0].last_used_ip;
      const age = (seconds: number) =>
        service.rows(`update keys set last_used_at = now() - make_interval(secs => $2) where key_id = $1`, [
          key_id,
          seconds,
        ]);
      // Accepted, although the use cannot be recorded.
      await service.rows(`
        create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
        create trigger refuse before update on keys for each row execute function refuse()`);
      expect((await use(key, '192.0.2.1')).status).toBe(200);
      await service.rows('drop function refuse cascade');
      await use(key, '192.0.2.1');
      await until(async () => (await noted()) === '192.0.2.1');
      // Less than a minute later: not recorded.
      await age(30);
      await use(key, '192.0.2.2');
      await touch(key_id, '192.0.2.2', false);
      expect(await noted()).toBe('192.0.2.1');
      // While another transaction locks the row: accepted, but not recorded.
      await age(70);
      await inTransaction(service, async (holder) => {
        await holder.query('select 1 from keys where key_id = $1 for update', [key_id]);
        expect((await use(key, '192.0.2.3')).status).toBe(200);
        await touch(key_id, '192.0.2.3', false);
      });
      expect(await noted()).toBe('192.0.2.1');
      await touch(key_id, '2001:db8::4', false);
      expect(await noted()).toBe('2001:db8::4');
    });

    it('is rejected when it expires in memory, without a notification (S7, S16)', async () => {
      const { key, key_id } = await createKey(service, ['user:read']);
      const soon = `update keys set expires_at = now() + interval '2 s' where key_id = $1`;
      // Repeated if the machine is so slow that the key expires before its first use.
      await until(async () => {
        await service.rows(soon, [key_id]);
        return (await use(key, '203.0.113.8')).status === 200;
      });
      await until(async () => (await use(key, '203.0.113.8')).status === 401);
    });

    it('starts no further batch of an operation after its revocation (S7, Z16)', async () => {
      const batch = 5_000;
      await addManyUsers(service, 10_002, 'big');
      const made = await createKey(service, ['user:update']);
      const users = await service.rows<{ user_id: string }>(
        `select user_id from users where carrier_id = 'big' order by user_id`,
      );
      const ids = users.map(({ user_id }) => user_id);
      await inTransaction(service, async (holder) => {
        await holder.query('select 1 from users where user_id = $1 for update', [ids[0]]);
        const request = { token: made.key, body: { timezone: 'Europe/Oslo' } };
        const { status, body } = await service.patch('/user/all?carrier_id=big', request);
        expect([status, body.actor_type, body.actor_id]).toEqual([202, 'key', made.key_id]);
        // The first batch has checked the key and waits for the row.
        await lockWaits(service);
        await revoke(made);
        await holder.query('rollback');
        const result = { status: 'failed', error_code: 'access.denied', changed: batch };
        expect(await ended(service, body.operation_id)).toMatchObject(result);
        const changed = await service.rows<{ user_id: string }>(
          `select user_id from users where timezone = 'Europe/Oslo' order by user_id`,
        );
        expect(changed.map(({ user_id }) => user_id)).toEqual(ids.slice(0, batch));
      });
    });
  });

  describe('as an actor', () => {
    it('is named in created users, ended sessions and the audit log', async () => {
      const { key_id, key: token } = await createKey(service, ['*']);
      const person = { user_type: 'carrier', carrier_id: 'c1', name: 'by-key', email: 'by-key@example.com' };
      const once = (by: string) =>
        service.post('/user/create', { token: by, body: person, headers: { 'idempotency-key': 'once' } });
      const [created, again] = [await once(token), await once(token)];
      expect([created.status, created.body.created_by, again.body]).toEqual([201, key_id, created.body]);
      // The same Idempotency-Key of another actor is a different key.
      expect((await once(admin.token)).status).toBe(409);
      const victim = await service.loginAs();
      await service.patch(`/user/${victim.user_id}`, { token, body: { status: 'disabled' } });
      const sessions = await service.get(`/auth/session/list?user_id=${victim.user_id}`, { token });
      const end = { ended_reason: 'user_disabled', ended_by: key_id };
      expect(sessions.body.items).toMatchObject([{ session_id: victim.session_id, current: false, ...end }]);
      const audit = await service.get(`/audit/list?actor_type=key&actor_id=${key_id}`, { token });
      const events = audit.body.items as { event_type: string; session_id: null }[];
      const types = events.map(({ event_type, session_id }) => `${event_type} ${session_id}`).sort();
      expect(types).toEqual(['session.ended null', 'user.changed null', 'user.created null']);
    });
  });
});
