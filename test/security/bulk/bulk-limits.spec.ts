import { randomUUID } from 'node:crypto';
import { type TestLogin, TestService } from '../../support/service';

const change = { locale: 'fr' };

describe('limits and counts of bulk changes', () => {
  let service: TestService;
  let token: string;
  let operator: TestLogin;
  let carrierAdministrator: TestLogin;
  let scoped: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
    for (let index = 0; index < 4; index++) await service.createUser({ carrier_id: 'c1', roles: ['carrier_user'] });
    for (let index = 0; index < 3; index++) await service.createUser({ carrier_id: 'c2', roles: ['carrier_user'] });
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
  const preview = async (method: string, query: string, body?: unknown, by?: { token: string }): Promise<string> =>
    (await send(method, `${query}&dry_run=true`, body, by)).body.confirm_token;

  describe.each([['PATCH'], ['DELETE']])('%s', (method) => {
    const body = method === 'PATCH' ? change : undefined;

    it('rejects a wrong number of expected users, also beside a confirm token (B5)', async () => {
      const before = await state();
      const confirm_token = await preview(method, 'carrier_id=c2', body);
      for (const expected of [0, 2, 4]) {
        const answer = await send(method, `carrier_id=c2&expected=${expected}&confirm_token=${confirm_token}`, body);
        expect([expected, answer.status, answer.body.code]).toEqual([expected, 409, 'bulk.expected_mismatch']);
      }
      expect(await state()).toEqual(before);
      // A rejected request does not consume the token.
      const done = await send(method, `carrier_id=c2&expected=3&confirm_token=${confirm_token}`, body);
      expect(done.body).toMatchObject({ matched: 3, changed: 3, skipped_count: 0 });
      await service.post(`/user/operation/${done.body.operation_id}/undo`, { token });
    });

    it('rejects too many ids before any change (B6)', async () => {
      const before = await state();
      const ids = (count: number) => Array.from({ length: count }, () => randomUUID()).join();
      expect((await send(method, `user_id_in=${ids(500)}`, body)).body).toMatchObject({ matched: 0 });
      for (const query of [
        `user_id_in=${ids(501)}`,
        `user_id_in=${ids(1_500)}`,
        `carrier_id=c1&user_id_ne=${ids(2)}`,
      ]) {
        const answer = await send(method, query, body);
        expect([query.length, answer.status, answer.body.code]).toEqual([query.length, 400, 'request.invalid']);
      }
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
        for (const query of [
          `carrier_id=${other}`,
          `user_id_in=${strangers.join()}`,
          'user_type=system&user_id_ne=' + by.user_id,
          'role=administrator',
        ])
          for (const end of ['&dry_run=true', '', '&expected=0']) {
            const answer = await send(method, query + end, body, by);
            expect([query, answer.body]).toEqual([
              query,
              expect.objectContaining({ matched: 0, skipped_count: 0, skipped: [], skipped_reasons: {} }),
            ]);
          }
        const everyone = await send(method, 'everyone=true&dry_run=true', body, by);
        expect(everyone.body.matched).toBe(all);
        const shown = everyone.text.replace(/"created_by":"[^"]*"/g, '');
        for (const stranger of strangers) expect(shown).not.toContain(stranger);
        const mismatch = await send(method, 'everyone=true&expected=7', body, by);
        expect([mismatch.status, mismatch.body.detail]).toEqual([409, `The filter matches ${all} users, not 7.`]);
      }
      expect(await state()).toEqual(before);
    });

    it('hides other operations from a limited caller, who can neither cancel nor undo them (B19)', async () => {
      const { body: mine } = await send(method, 'carrier_id=c1&role=carrier_user', body);
      const { operation_id } = mine;
      expect(mine.changed).toBe(4);
      for (const by of [carrierAdministrator, scoped]) {
        for (const [verb, path] of [
          ['GET', ''],
          ['POST', '/undo'],
          ['POST', '/cancel'],
        ] as const) {
          const answer = await service.send(verb, `/user/operation/${operation_id}${path}`, by);
          expect([path, answer.status, answer.body.code]).toEqual([path, 404, 'operation.not_found']);
        }
        for (const query of [
          '',
          '?count=exact',
          `?operation_id=${operation_id}`,
          `?actor_id=${service.admin.user_id}`,
        ]) {
          const list = await service.get(`/user/operation/list${query}`, by);
          expect(list.text).not.toContain(operation_id);
          expect(list.body.items.filter(({ actor_id }: { actor_id: string }) => actor_id !== by.user_id)).toEqual([]);
        }
      }
      // Control: a System User without scope can.
      expect((await service.get(`/user/operation/${operation_id}`, operator)).body.actor_id).toBe(
        service.admin.user_id,
      );
      const undone = await service.post(`/user/operation/${operation_id}/undo`, operator);
      expect([undone.status, undone.body.changed]).toEqual([202, 4]);
    });

    it('replays the first response to a repeated key, and applies 20 parallel requests once (B22, F12)', async () => {
      const headers = { 'idempotency-key': randomUUID() };
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => send(method, 'carrier_id=c2', body, service.admin, headers)),
      );
      const first = answers.find(({ status }) => status === 200);
      expect(first?.body).toMatchObject({ matched: 3, changed: 3 });
      for (const answer of answers)
        expect([first?.text, 'idempotency.in_progress']).toContain(
          answer.status === 409 ? answer.body.code : answer.text,
        );
      const operations = `
        select 1
        from operations
        where actor_id = $1
          and changed = 3
          and request -> 'filters' = '{"carrier_id":"c2"}'
          and undone_by is null
          and kind <> 'undo'`;
      expect(await service.rows(operations, [service.admin.user_id])).toHaveLength(1);
      for (const [query, other] of [
        ['carrier_id=c1', body],
        ...(body === undefined ? [] : [['carrier_id=c2', { locale: 'de' }] as const]),
      ] as const)
        expect((await send(method, query, other, service.admin, headers)).body.code).toBe('idempotency.key_reused');
      const preview = await send(method, 'carrier_id=c2&dry_run=true', body, service.admin, headers);
      expect(preview.body.kind).toBe('preview');
      expect((await send(method, 'carrier_id=c2', body, service.admin, headers)).text).toBe(first?.text);
      const undone = await service.post(`/user/operation/${first?.body.operation_id}/undo`, { token });
      expect(undone.body.changed).toBe(3);
    });
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
        expect([answer.status, answer.body.errors]).toEqual([
          400,
          [expect.objectContaining({ pointer, code: 'field.not_allowed' })],
        ]);
      }
    expect(await state()).toEqual(before);
    expect(
      (await send('PATCH', 'carrier_id=c1', { roles_add: ['carrier_user'], roles_remove: ['carrier_administrator'] }))
        .status,
    ).toBe(200);
  });

  it('rejects by name fields of a single user and unknown fields (B18, Z8)', async () => {
    const before = await state();
    for (const [field, value] of Object.entries({
      ...{
        email: 'one@example.com',
        name: 'one',
        first_name: 'One',
        last_name: 'One',
        phone: '+4312345678',
        password: 'correct horse battery staple',
      },
      ...{
        user_id: randomUUID(),
        user_type: 'system',
        carrier_id: 'c2',
        version: 1,
        deleted_at: null,
        email_verified_at: null,
        locked_until: null,
      },
      ...{
        permissions: ['*'],
        password_hash: 'x',
        created_at: '2026-01-01T00:00:00Z',
        everyone: true,
        confirm_token: 'a',
        dry_run: false,
      },
    })) {
      for (const body of [{ [field]: value }, { ...change, [field]: value }]) {
        const answer = await send('PATCH', 'carrier_id=c1', body);
        expect([field, answer.status, answer.body.errors]).toEqual([
          field,
          400,
          [expect.objectContaining({ pointer: `/${field}` })],
        ]);
      }
    }
    expect(await state()).toEqual(before);
  });
});
