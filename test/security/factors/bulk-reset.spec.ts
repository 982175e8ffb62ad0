import { enrolApp } from '../../support/factors';
import { createKey } from '../../support/keys';
import { type TestAnswer, type TestLogin, TestService } from '../../support/service';

const codeOf = ({ status, body }: TestAnswer): string => `${status}${body?.code === undefined ? '' : ` ${body.code}`}`;

describe('resetting second factors in bulk', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(
      `insert into roles (name, user_types, permissions) values ('editor', '{system}', '{user:read,user:update}')`,
    );
  });
  afterAll(() => service.close());

  type User = TestLogin & { name: string; email: string };
  async function enrolled(fields: Record<string, unknown> = {}): Promise<User> {
    const user = await service.loginAs(fields);
    await enrolApp(service, user);
    return user;
  }
  const send = (users: { user_id: string }[], body: object, { token }: { token: string } = service.admin, end = '') =>
    service.patch(`/user/all?user_id_in=${users.map(({ user_id }) => user_id).join()}${end}`, { token, body });
  const body = { reset_second_factors: true };
  const has = async (user_id: string) =>
    (await service.get(`/user/list?user_id=${user_id}&has_second_factor=true`, service.admin)).body.items.length === 1;

  it('removes factors, recovery codes and sessions, records each reset and mails each user', async () => {
    const [one, two, none] = [await enrolled(), await enrolled(), await service.loginAs()];
    const users = [one, two, none];
    const preview = await send(users, body, service.admin, '&dry_run=true');
    expect(preview.body).toMatchObject({ matched: 3, would_change: 2, unchanged: 1 });
    expect(await has(one.user_id)).toBe(true);
    const done = await send(users, body);
    expect(done.body).toMatchObject({ matched: 3, changed: 2, unchanged: 1, undo_until: null });
    expect([await has(one.user_id), await has(two.user_id)]).toEqual([false, false]);
    const ids = users.map(({ user_id }) => user_id);
    expect(await service.rows('select 1 from recovery_codes where user_id = any($1)', [ids])).toEqual([]);
    for (const { token } of [one, two]) expect((await service.get('/user', { token })).status).toBe(401);
    expect((await service.get('/user', none)).status).toBe(200);
    const events = await service.rows<{ target_id: string; changes: object }>(
      `select target_id, changes
       from events
       where operation_id = $1 and event_type = 'factor.reset'
       order by target_id`,
      [done.body.operation_id],
    );
    const changes = { kinds: { before: ['totp'], after: [] } };
    expect(events).toEqual([one, two].map(({ user_id }) => ({ target_id: user_id, changes })).sort(byTarget));
    for (const { email } of [one, two]) await service.mailbox.take(email, /were reset/);
    expect(codeOf(await service.post(`/user/operation/${done.body.operation_id}/undo`, service.admin))).toBe(
      '409 operation.not_undoable',
    );
    const version = async () => (await service.get(`/user/${one.user_id}`, service.admin)).body.version as number;
    expect(await version()).toBe(1);
  });

  it('undoes the fields that change together with a reset, and no reset', async () => {
    const [one, none] = [await enrolled(), await service.createUser()];
    const done = await send([one, none], { ...body, locale: 'de' });
    expect(done.body).toMatchObject({ changed: 2 });
    const undone = await service.post(`/user/operation/${done.body.operation_id}/undo`, service.admin);
    expect(undone.body).toMatchObject({ changed: 2, skipped_count: 0 });
    const { locale, second_factors } = (await service.get(`/user/${one.user_id}`, service.admin)).body;
    expect([locale, second_factors]).toEqual([null, []]);
  });

  it('skips protected users and the caller, and finds no user outside the scope (M11)', async () => {
    const [administrator, operator] = [
      await enrolled({ user_type: 'system', roles: ['administrator'] }),
      await enrolled({ user_type: 'system', roles: ['operator'] }),
    ];
    const reset = await send([administrator, operator], body, operator);
    expect(reset.body).toMatchObject({ matched: 2, changed: 0 });
    expect(
      new Map((reset.body.skipped as { user_id: string; reason: string }[]).map((s) => [s.user_id, s.reason])),
    ).toEqual(
      new Map([
        [administrator.user_id, 'access.protected_user'],
        [operator.user_id, 'user.self_protected'],
      ]),
    );
    const single = await service.delete(`/user/${administrator.user_id}/factor/all`, operator);
    expect(codeOf(single)).toBe('403 access.protected_user');
    const manager = await service.loginAs({ roles: ['carrier_administrator'] });
    expect((await send([administrator], body, manager)).body.matched).toBe(0);
    expect([await has(administrator.user_id), await has(operator.user_id)]).toEqual([true, true]);
  });

  it('rejects API keys, callers without user:reset_factors and old logins (M11)', async () => {
    const user = await enrolled();
    const editor = await service.loginAs({ user_type: 'system', roles: ['editor'] });
    const key = { token: (await createKey(service, ['*'])).key };
    for (const caller of [editor, key]) {
      expect(codeOf(await send([user], body, caller))).toBe('403 access.denied');
      expect(codeOf(await send([user], body, caller, '&dry_run=true'))).toBe('403 access.denied');
      expect(codeOf(await service.delete(`/user/${user.user_id}/factor/all`, caller))).toBe('403 access.denied');
    }
    const old = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    await service.rows(`update sessions set auth_time = now() - interval '10 minutes' where session_id = $1`, [
      old.session_id,
    ]);
    expect(codeOf(await send([user], body, old))).toBe('401 auth.reauthentication_required');
    expect(await has(user.user_id)).toBe(true);
  });
});

function byTarget(one: { target_id: string }, other: { target_id: string }): number {
  return one.target_id < other.target_id ? -1 : 1;
}
