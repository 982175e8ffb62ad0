import { randomUUID } from 'node:crypto';
import { ConfirmTokens, type Confirmation, type PreviewedRequest } from '../../src/users/bulk/confirm-tokens';
import { addManyUsers } from '../support/many-users';
import { appSecret, type TestLogin, TestService } from '../support/service';

const change = { locale: 'fr' };

/** The grammar of the query and the signature of tokens have specs beside their code. */
describe('the preview and the confirmation of a bulk change', () => {
  let service: TestService;
  let operator: TestLogin;
  let carrierAdministrator: TestLogin;
  let scoped: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    await addManyUsers(service, 4, 'c1');
    await addManyUsers(service, 3, 'c2');
    operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    scoped = await service.loginAs({ user_type: 'system', roles: ['operator'], carrier_scope: ['c2'] });
    carrierAdministrator = await service.loginAs({ carrier_id: 'c1', roles: ['carrier_administrator'] });
  });
  afterAll(() => service.close());

  const state = () => service.rows('select * from users order by user_id');
  const send = (
    method: string,
    query: string,
    body?: unknown,
    by: { token: string } = service.admin,
    headers: Record<string, string> = {},
  ) => service.send(method, `/user/all?${query}`, { token: by.token, body, headers });
  const preview = async (method: string, query: string, body?: unknown): Promise<string> =>
    (await send(method, `${query}&dry_run=true`, body)).body.confirm_token;
  const undo = (operation_id: string) => service.post(`/user/operation/${operation_id}/undo`, service.admin);

  describe.each([['PATCH'], ['DELETE']])('%s', (method) => {
    const body = method === 'PATCH' ? change : undefined;

    it('changes no user without a filter, or with a wrong or repeated one (B1, B2, B3, B20)', async () => {
      const before = await state();
      for (const [query, code] of [
        ['', 'bulk.filter_required'],
        ['everyone=false', 'bulk.filter_required'],
        ['dry_run=true', 'bulk.filter_required'],
        ['email=', 'request.invalid'],
        ['carrier_id=c1&emial=a', 'request.invalid'],
        ['carrier_id=c1&status=activ', 'request.invalid'],
        ['carrier_id=c1&carrier_id=c2', 'request.invalid'],
        ['carrier_id=c1&name=%00', 'request.invalid'],
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
        ...[{ carrier_id: 'c1' }, { everyone: true }, { ...body, user_id_in: [] }, 'null', '[]', '{}', '""', ''].map(
          (one) => [one, json] as const,
        ),
        [undefined, { ...json, 'content-length': '0' }],
        ['everyone=true', form],
      ] as const) {
        const { status } = await send(method, '', payload, service.admin, headers);
        expect([payload, [400, 415].includes(status)]).toEqual([payload, true]);
      }
      expect(await state()).toEqual(before);
    });

    it('reports the count, and changes no user with a wrong `expected` or with If-Match (B5)', async () => {
      const before = await state();
      const shown = await send(method, 'carrier_id=c2&dry_run=true', body);
      expect(shown.body).toMatchObject({
        kind: 'preview',
        matched: 3,
        would_change: 3,
        confirm_token: expect.any(String),
      });
      const confirmed = `carrier_id=c2&confirm_token=${shown.body.confirm_token}`;
      for (const query of ['carrier_id=c2', confirmed, 'carrier_id=c2&dry_run=true'])
        for (const expected of [0, 2, 4]) {
          const answer = await send(method, `${query}&expected=${expected}`, body);
          expect([query, answer.status, answer.body.code]).toEqual([query, 409, 'bulk.expected_mismatch']);
        }
      for (const tag of ['"1"', '*'])
        expect((await send(method, 'carrier_id=c2', body, service.admin, { 'if-match': tag })).status).toBe(400);
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
      for (const query of [`user_id_in=${ids(501)}`, `carrier_id=c1&user_id_ne=${ids(2)}`])
        expect((await send(method, query, body)).body.code).toBe('request.invalid');
      expect(await state()).toEqual(before);
    });

    it('matches, counts and reports only users in the scope of the caller (B19)', async () => {
      const before = await state();
      for (const [by, own, other, all] of [
        [carrierAdministrator, 'c1', 'c2', 5],
        [scoped, 'c2', 'c1', 4],
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

    it('lets one of 20 parallel uses of a confirm token win, and applies it once (B22)', async () => {
      await addManyUsers(service, 3, `token-${method}`);
      const query = `carrier_id=token-${method}`;
      const confirm_token = await preview(method, query, body);
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => send(method, `${query}&confirm_token=${confirm_token}`, body)),
      );
      expect(answers.filter(({ status }) => status === 200).map((won) => won.body.changed)).toEqual([3]);
      expect(answers.filter((lost) => lost.status === 409 && lost.body.code === 'bulk.set_changed')).toHaveLength(19);
      const versions = await service.rows('select distinct version from users where carrier_id = $1', [
        `token-${method}`,
      ]);
      expect(versions).toEqual([{ version: 2 }]);
    });
  });

  it.each([
    ...['carrier_id=f', 'status=disabled&carrier_id=f', 'status_ne=active&carrier_id=f', 'locale=de', 'q=f-1'],
    ...['carrier_id=f&locale_isnull=false', 'carrier_id_in=f,none', 'role=carrier_user&carrier_id=f'],
    ...['attributes.number=2&carrier_id=f', 'must_change_password=true', 'email_like=example&carrier_id=f'],
  ])('finds the same users in list, preview and change: %s', async (query) => {
    await service.rows(`delete from users where carrier_id = 'f'`);
    await addManyUsers(service, 6, 'f');
    await service.rows(`
      update users
      set
        status = case when name in ('f-1', 'f-2') then 'disabled' else 'active' end,
        locale = case when name in ('f-2', 'f-3') then 'de' end, must_change_password = name = 'f-4',
        attributes = case when name = 'f-2' then '{"number": "2"}' else attributes end
      where carrier_id = 'f'`);
    const { items } = (await service.get(`/user/list?${query}`, service.admin)).body;
    const wanted = (items as { user_id: string }[]).map(({ user_id }) => user_id).sort();
    expect(wanted).not.toEqual([]);
    const shown = (await send('PATCH', `${query}&dry_run=true`, { timezone: 'Europe/Malta' })).body;
    expect((shown.sample as { user_id: string }[]).map(({ user_id }) => user_id).sort()).toEqual(wanted);
    expect((await send('DELETE', `${query}&dry_run=true`)).body).toMatchObject({ matched: wanted.length });
    await send('PATCH', `${query}&confirm_token=${shown.confirm_token}`, { timezone: 'Europe/Malta' });
    const changed = await service.rows<{ user_id: string }>(
      `select user_id from users where carrier_id = 'f' and timezone = 'Europe/Malta' order by user_id`,
    );
    expect(changed.map(({ user_id }) => user_id)).toEqual(wanted);
  });

  it('changes exactly the previewed users with a confirm token, once, and shows 20 of them', async () => {
    await addManyUsers(service, 30, 'small');
    const shown = (await send('PATCH', 'carrier_id=small&dry_run=true', change)).body;
    expect(shown).toMatchObject({ matched: 30, would_change: 30, unchanged: 0, skipped_count: 0, skipped_reasons: {} });
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
    const patch = await preview('PATCH', 'carrier_id=c1', change);
    const erase = await preview('DELETE', 'carrier_id=c1');
    for (const [method, query, body, by] of [
      ['PATCH', `carrier_id=c1&confirm_token=${patch}`, change, operator],
      ['DELETE', `carrier_id=c1&confirm_token=${erase}`, undefined, operator],
      ['DELETE', `carrier_id=c1&confirm_token=${patch}`, undefined, service.admin],
      ['PATCH', `carrier_id=c1&confirm_token=${erase}`, change, service.admin],
      ['PATCH', `carrier_id=c1&status=active&confirm_token=${patch}`, change, service.admin],
      ['PATCH', `everyone=true&confirm_token=${patch}`, change, service.admin],
      ['PATCH', `carrier_id=c1&confirm_token=${patch}`, { locale: 'de' }, service.admin],
      ['PATCH', `carrier_id=c1&confirm_token=${patch}A`, change, service.admin],
    ] as const) {
      const answer = await send(method, query, body, by);
      expect([query, answer.status, answer.body.errors?.[0].parameter]).toEqual([query, 400, 'confirm_token']);
    }
    expect(await state()).toEqual(before);
  });

  it('rejects an expired confirm token, or one for other users, and accepts the same one in time (B5)', async () => {
    const before = await state();
    const signed = (await preview('PATCH', 'carrier_id=c1', change)).split('.')[0] ?? '';
    const [confirm_id, , count, digest] = JSON.parse(Buffer.from(signed, 'base64url').toString()) as [
      ...[string, number, number, string],
    ];
    const actor = { actor_type: 'user', user_id: service.admin.user_id } as PreviewedRequest['actor'];
    const confirm = (confirmation: Partial<Confirmation>) => {
      const whole = { confirm_id, expires_at: Date.now() + 60_000, count, digest, ...confirmation };
      const previewed = { actor, kind: 'change', filters: { carrier_id: 'c1' }, change };
      return send(
        'PATCH',
        `carrier_id=c1&confirm_token=${new ConfirmTokens(appSecret).mint(whole, previewed)}`,
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
    const wrong: [Record<string, string[]>, string][] = [
      [
        { roles_add: ['carrier_user', 'carrier_administrator'], roles_remove: ['carrier_administrator'] },
        '/roles_remove',
      ],
      [{ roles: ['carrier_user'], roles_add: ['carrier_administrator'] }, '/roles'],
      [{ roles: ['carrier_user'], roles_remove: [] }, '/roles'],
    ];
    for (const [body, pointer] of wrong)
      for (const query of ['carrier_id=c1', 'carrier_id=c1&dry_run=true']) {
        const answer = await send('PATCH', query, body);
        const fault = expect.objectContaining({ pointer, code: 'field.not_allowed' });
        expect([answer.status, answer.body.errors]).toEqual([400, [fault]]);
      }
    expect((await send('PATCH', 'carrier_id=c1', {})).body.errors).toMatchObject([{ code: 'field.required' }]);
    expect(await state()).toEqual(before);
  });

  it.each(
    Object.entries({
      ...{ email: 'one@example.com', name: 'one', first_name: 'One', last_name: 'One', phone: '+4312345678' },
      ...{ password: 'correct horse battery staple', password_hash: 'x', user_id: randomUUID(), user_type: 'system' },
      ...{ carrier_id: 'c2', version: 1, deleted_at: null, email_verified_at: null, locked_until: null },
      ...{ permissions: ['*'], created_at: '2026-01-01T00:00:00Z', everyone: true, confirm_token: 'a', dry_run: false },
    }),
  )('rejects the field %s of a single user or of no user (B18, Z8)', async (field, value) => {
    const before = await state();
    for (const body of [{ [field]: value }, { ...change, [field]: value }]) {
      const answer = await send('PATCH', 'carrier_id=c1', body);
      const fault = expect.objectContaining({ pointer: `/${field}` });
      expect([answer.status, answer.body.errors]).toEqual([400, [fault]]);
    }
    expect(await state()).toEqual(before);
  });
});
