import { randomUUID } from 'node:crypto';
import { ConfirmTokens, type Confirmation, type PreviewedRequest } from '../../src/users/bulk/confirm-tokens';
import { addManyUsers } from '../support/data/many-users';
import { appSecret, type TestAnswer, type TestLogin, TestService } from '../support/service';

const change = { locale: 'fr' };

/** The grammar of the query and the signature of confirm tokens have specs beside their code. */
describe('bulk changes', () => {
  let service: TestService;
  let admin: TestLogin;
  let operator: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
    await service.rows(`
      insert into roles (name, user_types, permissions, may_grant)
      values
        ('deputy', '{system}', '{user:read,user:update,user:delete}', '{administrator,deputy}'),
        ('reader', '{system}', '{user:read}', '{}')`);
    operator = await system(['operator']);
  });
  afterAll(() => service.close());

  const state = () => service.rows('select * from users order by user_id');
  const rowOf = async (user_id: string) => (await service.rows('select * from users where user_id = $1', [user_id]))[0];
  const send = (
    method: string,
    query: string,
    body?: unknown,
    by: { token: string } = admin,
    headers: Record<string, string> = {},
  ) => service.send(method, `/user/all?${query}`, { token: by.token, body, headers });
  const undo = (operation_id: string, by = admin) => service.post(`/user/operation/${operation_id}/undo`, by);
  const system = (roles: string[], more: Record<string, unknown> = {}) =>
    service.loginAs({ user_type: 'system', roles, ...more });

  describe('with a preview and a confirmation', () => {
    let carrierAdministrator: TestLogin;
    let scoped: TestLogin;
    beforeAll(async () => {
      await addManyUsers(service, 4, 'p1');
      await addManyUsers(service, 3, 'p2');
      scoped = await system(['operator'], { carrier_scope: ['p2'] });
      carrierAdministrator = await service.loginAs({ carrier_id: 'p1', roles: ['carrier_administrator'] });
    });

    const preview = async (method: string, query: string, body?: unknown): Promise<string> =>
      (await send(method, `${query}&dry_run=true`, body)).body.confirm_token;
    describe.each([['PATCH'], ['DELETE']])('%s', (method) => {
      const body = method === 'PATCH' ? change : undefined;

      it('changes no user without a filter, or with a wrong or repeated one (B1, B2, B3, B20)', async () => {
        const before = await state();
        for (const [query, code] of [
          ['', 'bulk.filter_required'],
          ['dry_run=true', 'bulk.filter_required'],
          ['carrier_id=p1&emial=a', 'request.invalid'],
          ['carrier_id=p1&carrier_id=p2', 'request.invalid'],
          ['carrier_id=p1&name=%00', 'request.invalid'],
        ]) {
          const answer = await send(method, query as string, body);
          expect([query, answer.status, answer.body.code]).toEqual([query, 400, code]);
        }
        expect(await state()).toEqual(before);
      });

      it('changes no user if the filter is in the body (B1)', async () => {
        const before = await state();
        const json = { 'content-type': 'application/json' };
        const form = { 'content-type': 'application/x-www-form-urlencoded' };
        for (const [payload, headers] of [
          ...[{ carrier_id: 'p1' }, { everyone: true }, { ...body, user_id_in: [] }, 'null', '[]', '{}', '""', ''].map(
            (one) => [one, json] as const,
          ),
          [undefined, { ...json, 'content-length': '0' }],
          ['everyone=true', form],
        ] as const) {
          const { status } = await send(method, '', payload, admin, headers);
          expect([payload, [400, 415].includes(status)]).toEqual([payload, true]);
        }
        expect(await state()).toEqual(before);
      });

      it('reports the count, and changes no user with a wrong `expected` or with If-Match (B5)', async () => {
        const before = await state();
        const shown = await send(method, 'carrier_id=p2&dry_run=true', body);
        expect(shown.body).toMatchObject({
          kind: 'preview',
          matched: 3,
          would_change: 3,
          confirm_token: expect.any(String),
        });
        const confirmed = `carrier_id=p2&confirm_token=${shown.body.confirm_token}`;
        for (const query of ['carrier_id=p2', confirmed, 'carrier_id=p2&dry_run=true'])
          for (const expected of [0, 2, 4]) {
            const answer = await send(method, `${query}&expected=${expected}`, body);
            expect([query, answer.status, answer.body.code]).toEqual([query, 409, 'bulk.expected_mismatch']);
          }
        for (const tag of ['"1"', '*'])
          expect((await send(method, 'carrier_id=p2', body, admin, { 'if-match': tag })).status).toBe(400);
        expect(await state()).toEqual(before);
        // A rejected request does not consume the token.
        const done = await send(method, `${confirmed}&expected=3`, body);
        expect(done.body).toMatchObject({ matched: 3, changed: 3, skipped_count: 0 });
        await undo(done.body.operation_id);
      });

      it('rejects more than 500 ids before any change (B6)', async () => {
        const before = await state();
        const ids = (count: number) => Array.from({ length: count }, () => randomUUID()).join();
        expect((await send(method, `user_id_in=${ids(500)}`, body)).body).toMatchObject({ matched: 0 });
        for (const query of [`user_id_in=${ids(501)}`, `carrier_id=p1&user_id_ne=${ids(2)}`])
          expect((await send(method, query, body)).body.code).toBe('request.invalid');
        expect(await state()).toEqual(before);
      });

      it('matches, counts and reports only users in the scope of the caller (B19)', async () => {
        const before = await state();
        for (const [by, own, other, all] of [
          [carrierAdministrator, 'p1', 'p2', 5],
          [scoped, 'p2', 'p1', 4],
        ] as const) {
          const strangers = before
            .filter(({ carrier_id, user_id }) => carrier_id !== own && user_id !== by.user_id)
            .map(({ user_id }) => user_id);
          for (const query of [`carrier_id=${other}`, `user_id_in=${strangers.join()}`, 'role=administrator'])
            for (const end of ['&dry_run=true', '', '&expected=0'])
              expect((await send(method, query + end, body, by)).body).toMatchObject({
                ...{ matched: 0, skipped_count: 0, skipped: [], skipped_reasons: {} },
              });
          const everyone = await send(method, 'everyone=true&dry_run=true', body, by);
          expect(everyone.body.matched).toBe(all);
          const shown = everyone.text.replace(/"created_by":"[^"]*"/g, '');
          for (const stranger of strangers) expect(shown).not.toContain(stranger);
          const mismatch = await send(method, 'everyone=true&expected=7', body, by);
          expect([mismatch.status, mismatch.body.detail]).toEqual([409, `The filter matches ${all} users, not 7.`]);
        }
        expect(await state()).toEqual(before);
      });

      it('accepts a confirm token once in 10 parallel requests, and applies the change once (B22)', async () => {
        await addManyUsers(service, 3, `token-${method}`);
        const query = `carrier_id=token-${method}`;
        const confirm_token = await preview(method, query, body);
        const answers = await Promise.all(
          Array.from({ length: 10 }, () => send(method, `${query}&confirm_token=${confirm_token}`, body)),
        );
        expect(answers.filter(({ status }) => status === 200).map((won) => won.body.changed)).toEqual([3]);
        expect(answers.filter((lost) => lost.status === 409 && lost.body.code === 'bulk.set_changed')).toHaveLength(9);
        const versions = await service.rows('select distinct version from users where carrier_id = $1', [
          `token-${method}`,
        ]);
        expect(versions).toEqual([{ version: 2 }]);
      });
    });

    it('changes exactly the previewed users with a confirm token, once, and shows 20 of them', async () => {
      await addManyUsers(service, 30, 'small');
      const shown = (await send('PATCH', 'carrier_id=small&dry_run=true', change)).body;
      expect(shown).toMatchObject({
        matched: 30,
        would_change: 30,
        unchanged: 0,
        skipped_count: 0,
        skipped_reasons: {},
      });
      expect(shown.sample).toHaveLength(20);
      const until = Date.parse(shown.expires_at as string) - Date.now();
      expect(until).toBeGreaterThan(300_000);
      expect(until).toBeLessThanOrEqual(600_000);
      const confirm = () => send('PATCH', `carrier_id=small&confirm_token=${shown.confirm_token}`, change);
      for (const text of [
        `insert into users (user_id, user_type, name, email, carrier_id, status)
       values (uuid_v7(), 'carrier', 'late', 'late@example.com', 'small', 'invited')`,
        // Another set with the same number of users.
        `update users set carrier_id = 'elsewhere' where name = 'small-1'`,
        `delete from users where name = 'late'`,
      ]) {
        await service.rows(text);
        const refused = await confirm();
        expect([refused.status, refused.body.code]).toEqual([409, 'bulk.set_changed']);
      }
      expect(await service.rows(`select 1 from users where locale = 'fr' and carrier_id = 'small'`)).toEqual([]);
      await service.rows(`update users set carrier_id = 'small' where name = 'small-1'`);
      expect((await confirm()).body).toMatchObject({ matched: 30, changed: 30 });
      const again = await confirm();
      expect([again.status, again.body.code]).toEqual([409, 'bulk.set_changed']);
    });

    it('rejects a confirm token of another caller, method, filter or body, or an altered one (B5)', async () => {
      const before = await state();
      const patch = await preview('PATCH', 'carrier_id=p1', change);
      const erase = await preview('DELETE', 'carrier_id=p1');
      for (const [method, query, body, by] of [
        ['PATCH', `carrier_id=p1&confirm_token=${patch}`, change, operator],
        ['DELETE', `carrier_id=p1&confirm_token=${patch}`, undefined, admin],
        ['PATCH', `carrier_id=p1&confirm_token=${erase}`, change, admin],
        ['PATCH', `carrier_id=p1&status=active&confirm_token=${patch}`, change, admin],
        ['PATCH', `everyone=true&confirm_token=${patch}`, change, admin],
        ['PATCH', `carrier_id=p1&confirm_token=${patch}`, { locale: 'de' }, admin],
        ['PATCH', `carrier_id=p1&confirm_token=${patch}A`, change, admin],
      ] as const) {
        const answer = await send(method, query, body, by);
        expect([query, answer.status, answer.body.errors?.[0].parameter]).toEqual([query, 400, 'confirm_token']);
      }
      expect(await state()).toEqual(before);
    });

    it('rejects an expired confirm token, or one for other users, and accepts the same one in time (B5)', async () => {
      const before = await state();
      const signed = (await preview('PATCH', 'carrier_id=p1', change)).split('.')[0] ?? '';
      const [confirm_id, , count, digest] = JSON.parse(Buffer.from(signed, 'base64url').toString()) as [
        ...[string, number, number, string],
      ];
      const actor = { actor_type: 'user', user_id: admin.user_id } as PreviewedRequest['actor'];
      const confirm = (confirmation: Partial<Confirmation>) => {
        const whole = { confirm_id, expires_at: Date.now() + 60_000, count, digest, ...confirmation };
        const previewed = { actor, kind: 'change', filters: { carrier_id: 'p1' }, change };
        return send(
          'PATCH',
          `carrier_id=p1&confirm_token=${new ConfirmTokens(appSecret).mint(whole, previewed)}`,
          change,
        );
      };
      for (const wrong of [
        ...[{ expires_at: Date.now() - 1 }, { expires_at: 0 }, { count: count + 1 }, { digest: `${digest}1` }],
        { confirm_id: randomUUID() },
      ])
        expect([wrong, (await confirm(wrong)).body.code]).toEqual([wrong, 'bulk.set_changed']);
      expect(await state()).toEqual(before);
      const done = await confirm({});
      expect([done.status, done.body.matched]).toEqual([200, count]);
      await undo(done.body.operation_id as string);
    });

    it('rejects a change that adds and removes a role, or adds one beside all roles, without effect', async () => {
      const before = await state();
      const both = { roles_add: ['carrier_user', 'carrier_administrator'], roles_remove: ['carrier_administrator'] };
      const wrong: [Record<string, string[]>, string][] = [
        [both, '/roles_remove'],
        [{ roles: ['carrier_user'], roles_add: ['carrier_administrator'] }, '/roles'],
        [{ roles: ['carrier_user'], roles_remove: [] }, '/roles'],
      ];
      for (const [body, pointer] of wrong)
        for (const query of ['carrier_id=p1', 'carrier_id=p1&dry_run=true']) {
          const answer = await send('PATCH', query, body);
          const fault = expect.objectContaining({ pointer, code: 'field.not_allowed' });
          expect([answer.status, answer.body.errors]).toEqual([400, [fault]]);
        }
      expect((await send('PATCH', 'carrier_id=p1', {})).body.errors).toMatchObject([{ code: 'field.required' }]);
      expect(await state()).toEqual(before);
    });
  });

  it.each([
    ['a deletion', 'DELETE', undefined],
    ['disabling', 'PATCH', { status: 'disabled' }],
  ])('changes no row, session or event when one row of %s fails (B14)', async (_title, method, body) => {
    const logins = await Promise.all(Array.from({ length: 4 }, () => service.loginAs({ carrier_id: 'c14' })));
    const ids = logins.map(({ user_id }) => user_id);
    const all = async () => [
      await state(),
      await service.rows('select * from sessions order by session_id'),
      await service.rows('select count(*) from events'),
    ];
    // The third row cannot be written, or its event, after all rows.
    for (const write of ['users update user_id', 'events insert target_id']) {
      const [table, verb, column] = write.split(' ');
      await service.rows(`create function refuse() returns trigger language plpgsql as $$ begin
        if new.${column} = '${ids[2]}' then raise exception 'no' using errcode = '40001'; end if; return new; end $$`);
      await service.rows(`create trigger refuse before ${verb} on ${table} for each row execute function refuse()`);
      const before = await all();
      const failed = await send(method, 'carrier_id=c14', body);
      expect([table, failed.status, failed.body.code]).toEqual([table, 503, 'service.database_unavailable']);
      expect(await all()).toEqual(before);
      expect((await service.get('/user', logins[0])).status).toBe(200);
      await service.rows(`drop trigger refuse on ${table}; drop function refuse()`);
    }
    expect((await send(method, 'carrier_id=c14', body)).body.changed).toBe(4);
    await service.rows(`update users set carrier_id = 'c0' where carrier_id = 'c14'`);
  });

  it('rejects the second change of the same version with If-Match, and applies it without (B16)', async () => {
    const { user_id } = await service.createUser();
    const path = `/user/${user_id}`;
    const etag = String((await service.get(path, admin)).headers['etag']);
    const patch = (first_name: string, headers: Record<string, string> = {}) =>
      service.patch(path, { token: admin.token, body: { first_name }, headers });
    const both = await Promise.all(['Ada', 'Eve', 'Bob', 'Joe'].map((name) => patch(name, { 'if-match': etag })));
    expect(both.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412]);
    const winner = both.find(({ status }) => status === 200) as TestAnswer;
    expect((await service.get(path, admin)).body.first_name).toBe(winner.body.first_name);
    const deletion = await service.delete(path, { token: admin.token, headers: { 'if-match': etag } });
    expect(deletion.body.code).toBe('user.version_mismatch');
    for (const tag of ['"0"', 'W/"2"', '2', '"x"', '', '"', ','])
      expect([tag, (await patch('Max', { 'if-match': tag })).status]).toEqual([tag, 412]);
    expect((await patch('Max', { 'if-match': `"99", ${String(winner.headers['etag'])}` })).status).toBe(200);
    expect((await patch('Eva', { 'if-match': '*' })).status).toBe(200);
    expect((await patch('Leo')).body).toMatchObject({ first_name: 'Leo', version: 5 });
    expect((await service.get(path, admin)).headers['etag']).toBe('"5"');
  });

  it('hides other operations from a limited caller, who can neither cancel nor undo them (B19)', async () => {
    await addManyUsers(service, 3, 'c19');
    const { body } = await send('PATCH', 'carrier_id=c19', { locale: 'fr' });
    const { operation_id } = body;
    for (const by of [
      await service.loginAs({ carrier_id: 'c19', roles: ['carrier_administrator'] }),
      await system(['operator'], { carrier_scope: ['c19'] }),
    ]) {
      for (const [verb, path] of [
        ['GET', ''],
        ['POST', '/undo'],
        ['POST', '/cancel'],
      ] as const) {
        const answer = await service.send(verb, `/user/operation/${operation_id}${path}`, by);
        expect([path, answer.status, answer.body.code]).toEqual([path, 404, 'operation.not_found']);
      }
      for (const query of ['count=exact', `operation_id=${operation_id}`, `actor_id=${admin.user_id}`])
        expect((await service.get(`/user/operation/list?${query}`, by)).body.items).toEqual([]);
    }
    // Control: a System User without scope can.
    expect((await service.get(`/user/operation/${operation_id}`, operator)).body.actor_id).toBe(admin.user_id);
    const undone = await undo(operation_id, operator);
    expect([undone.status, undone.body.changed]).toEqual([202, 3]);
  });

  it('skips the caller in changes of the own rights (Z13)', async () => {
    const one = await system(['administrator']);
    const query = `user_id=${one.user_id}`;
    const before = await rowOf(one.user_id);
    for (const [method, body] of [
      ['PATCH', { status: 'disabled' }],
      ['PATCH', { roles: ['reader'] }],
      ['PATCH', { roles_add: ['reader'] }],
      ['PATCH', { roles_remove: ['administrator'] }],
      ['PATCH', { carrier_scope: ['c1'] }],
      ['DELETE', undefined],
    ] as const)
      expect((await send(method, query, body, one)).body).toMatchObject({
        changed: 0,
        skipped: [{ user_id: one.user_id, reason: 'user.self_protected' }],
      });
    expect(await rowOf(one.user_id)).toEqual(before);
    const { operation_id } = (await send('PATCH', query, { roles: ['administrator', 'reader'] })).body;
    expect((await undo(operation_id, one)).body).toMatchObject({
      changed: 0,
      skipped: [{ user_id: one.user_id, reason: 'user.self_protected' }],
    });
    // Control: a change without permissions is allowed.
    const harmless = (await send('PATCH', query, { locale: 'fr' }, one)).body;
    expect((await undo(harmless.operation_id, one)).body).toMatchObject({ changed: 1 });
  });

  it('skips the caller if allowed_ips would lock the caller out (Z13)', async () => {
    const caller = await system(['operator']);
    const other = await service.createUser({ carrier_id: 'ips' });
    const query = `user_id_in=${caller.user_id},${other.user_id}`;
    const patch = async (allowed_ips: string[]) => (await send('PATCH', query, { allowed_ips }, caller)).body;
    const self = [{ user_id: caller.user_id, reason: 'user.self_protected' }];
    expect(await patch(['192.0.2.0/24'])).toMatchObject({ changed: 1, skipped: self });
    expect(await patch(['192.0.2.0/24', '127.0.0.0/8'])).toMatchObject({ changed: 2, skipped_count: 0 });
    expect((await service.get('/user', caller)).status).toBe(200);
    // Lifts the address limit, then undoes from an address that the limit excludes.
    const { operation_id, changed } = await patch([]);
    expect(changed).toBe(2);
    const from = { token: caller.token, ip: '198.51.100.7' };
    const undone = (await service.post(`/user/operation/${operation_id}/undo`, from)).body;
    expect(undone).toMatchObject({ changed: 1, skipped: self });
    expect((await service.get('/user', caller)).status).toBe(200);
  });

  it('keeps the last administrator in a change of all administrators, a deletion and an undo (Z14)', async () => {
    const deputy = await system(['deputy']);
    const next = await system(['reader']);
    const { operation_id } = (await send('PATCH', `user_id=${next.user_id}`, { roles: ['administrator'] }, deputy))
      .body;
    await service.rows(`update users set status = 'disabled' where roles && '{administrator}' and user_id <> $1`, [
      next.user_id,
    ]);
    const last = { changed: 0, skipped: [{ user_id: next.user_id, reason: 'user.last_administrator' }] };
    expect((await undo(operation_id, deputy)).body).toMatchObject(last);
    for (const [method, body] of [
      ['PATCH', { status: 'disabled' }],
      ['PATCH', { roles: [] }],
      ['PATCH', { carrier_scope: [] }],
      ['DELETE', undefined],
    ] as const)
      expect((await send(method, 'role=administrator&status=active', body, deputy)).body).toMatchObject(last);
    const kept = { status: 'active', roles: ['administrator'], deleted_at: null, carrier_scope: null };
    expect(await rowOf(next.user_id)).toMatchObject(kept);
    await service.rows(`update users set status = 'active' where roles && '{administrator}'`);
  });

  it('causes no 5xx and keeps an administrator in parallel bulk and single changes (B15, F26)', async () => {
    const administrators = [await system(['administrator']), await system(['administrator'])];
    const users: TestLogin[] = [];
    for (const carrier_id of ['odd', 'even', 'odd', 'even'])
      users.push(await service.loginAs({ carrier_id, roles: ['carrier_user'] }));
    const nth = <T>(from: readonly T[], index: number): T => from[index % from.length] as T;
    const filters = ['carrier_id=odd', 'carrier_id=even', 'carrier_id_in=odd,even', 'user_type=carrier'];
    const changes = [
      ...[{ status: 'disabled' }, { locale: 'de' }, { attributes: { a: '1' } }, { roles_add: ['carrier_user'] }],
      ...[{ status: 'active' }, { locale: 'fr' }, { attributes: { a: null } }, { roles: [] }, { allowed_ips: [] }],
    ];
    const demotions = [{ status: 'disabled' }, { roles_remove: ['administrator'] }, { locale: 'de' }];
    const requests: ((index: number, by: TestLogin) => Promise<TestAnswer>)[] = [
      (index, by) => send('PATCH', nth(filters, index), nth(changes, index), by),
      (index, by) => send('PATCH', nth(filters, index + 1), nth(changes, index + 4), by),
      (index, by) => send('PATCH', 'role=administrator', nth(demotions, index), by),
      (index, by) => send('DELETE', nth(filters.slice(0, 2), index), undefined, by),
      (index, { token }) =>
        service.patch(`/user/${nth(users, index).user_id}`, { token, body: nth(changes.slice(0, 2), index) }),
      (index, by) => service.delete(`/user/${nth(users, index).user_id}`, by),
      (index, by) => service.post(`/user/${nth(users, index).user_id}/restore`, by),
      (index, { token }) =>
        service.patch(`/user/${nth(administrators, index).user_id}`, { token, body: { status: 'disabled' } }),
      (index, by) => service.delete(`/auth/session/all?carrier_id=${nth(['odd', 'even'], index)}`, by),
      (index) => service.post('/auth/check-token', { body: { refresh_token: nth(users, index).refresh_token } }),
    ];
    const answers: TestAnswer[] = [];
    for (let round = 0; round < 2; round++) {
      // Restores the users who were disabled, demoted or logged out in the previous round.
      await service.rows(
        `update users set status = 'active', roles = '{administrator}', deleted_at = null where user_id = any($1)`,
        [administrators.map(({ user_id }) => user_id)],
      );
      await service.rows(`update users set status = 'active' where carrier_id in ('odd', 'even')`);
      await service.rows('update sessions set ended_at = null');
      const both = [...requests, ...requests];
      const sent = both.map((request, index) => request(index + round, nth(administrators, index + round)));
      answers.push(...(await Promise.all(sent)));
    }
    const results = answers.map(({ status, body }) => `${status} ${body?.code ?? ''}`);
    expect(results.filter((result) => result.startsWith('5'))).toEqual([]);
    expect(results.filter((result) => result.startsWith('2')).length).toBeGreaterThan(4);
    // Each version of a user has one event.
    const steps = await service.rows<{ version: number; events: number; twice: boolean }>(`
      select
        version, count(event_id)::integer as events,
        count(target_version) <> count(distinct target_version) or max(target_version) > version as twice
      from users
      left join events on target_id = user_id
        and event_type in ('user.changed', 'user.deleted', 'user.restored')
      where users.carrier_id in ('odd', 'even')
      group by user_id`);
    expect(steps.filter(({ version, events, twice }) => twice || events !== version - 1)).toEqual([]);
    expect(steps.some(({ version }) => version > 1)).toBe(true);
    const left = `
      select 1
      from users
      where roles && '{administrator}' and status = 'active' and deleted_at is null and carrier_scope is null`;
    expect((await service.rows(left)).length).toBeGreaterThan(0);
  });
});
