import { Webhook } from 'standardwebhooks';
import startServer from '../support/global-setup';
import stopServer from '../support/global-teardown';
import { HookReceiver } from '../support/network/hook-receiver';
import { createKey } from '../support/data/keys';
import { type TestLogin, TestService } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { until } from '../support/until';

interface Hook {
  webhook_id: string;
  secret: string;
  state: string;
}

describe('webhooks', () => {
  let service: TestService;
  let admin: TestLogin;
  const receiver = new HookReceiver();
  beforeAll(async () => {
    // A server of its own: transactions of other tests would hold the feed back.
    await startServer();
    await receiver.start();
    service = await TestService.start({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
    admin = service.admin;
  });
  afterAll(async () => {
    await service.close();
    await receiver.stop();
    await stopServer();
  });

  let paths = 0;
  async function create(fields: Record<string, unknown> = {}, by: Pick<TestLogin, 'token'> = admin) {
    const path = `/hook${++paths}`;
    const body = { url: receiver.url(path), type_in: ['user.created'], ...fields };
    const answer = await service.post('/webhook/create', { token: by.token, body });
    if (answer.status !== 201) throw new Error(answer.text);
    return { ...(answer.body as Hook), path };
  }
  const show = async ({ webhook_id }: Pick<Hook, 'webhook_id'>) =>
    (await service.get(`/webhook/${webhook_id}`, admin)).body as Record<string, unknown>;
  const act = (hook: Pick<Hook, 'webhook_id'>, action: string, body?: object) =>
    service.post(`/webhook/${hook.webhook_id}/${action}`, { token: admin.token, ...(body && { body }) });
  const deliveries = async ({ webhook_id }: Hook, query = '') =>
    (await service.get(`/webhook/${webhook_id}/delivery/list?${query}`, admin)).body.items as Record<string, unknown>[];
  const names = (path: string) => receiver.of(path).map(({ json }) => json.data['target_id']);
  const arrived = (path: string, count: number) => until(() => receiver.of(path).length >= count);

  it('sends changes in the order of the feed, with signatures of Standard Webhooks 1.0', async () => {
    const hook = await create({ type_in: [] });
    const users = [await service.createUser(), await service.createUser()];
    await service.patch(`/user/${users[0]?.user_id}`, { ...admin, body: { locale: 'de' } });
    await arrived(hook.path, 3);
    const hooks = receiver.of(hook.path);
    expect(hooks.map(({ json }) => [json.type, json.data['target_id']])).toEqual([
      ['user.created', users[0]?.user_id],
      ['user.created', users[1]?.user_id],
      ['user.changed', users[0]?.user_id],
    ]);
    for (const { headers, body, json } of hooks) {
      expect(new Webhook(hook.secret).verify(body, headers as Record<string, string>)).toEqual(json);
      expect(headers['content-type']).toBe('application/json');
      expect(headers['webhook-id']).toBe(json.data['change_id']);
      expect(json.data).not.toHaveProperty('values');
    }
    expect((await service.get(`/webhook/${hook.webhook_id}`, admin)).text).not.toContain('whsec_');
    const [secret] = await service.rows<{ secret: Buffer }>('select secret from webhooks');
    expect(secret?.secret.includes(Buffer.from(hook.secret.slice(6), 'base64'))).toBe(false);
    await service.delete(`/webhook/${hook.webhook_id}`, admin);
  });

  it('sends only changes of its types and carriers, with values on request', async () => {
    const hook = await create({ carrier_scope: ['acme'], include_values: true });
    const inside = await service.createUser({ carrier_id: 'acme' });
    await service.createUser({ carrier_id: 'other' });
    const last = await service.createUser({ carrier_id: 'acme' });
    await arrived(hook.path, 2);
    expect(names(hook.path)).toEqual([inside.user_id, last.user_id]);
    expect(receiver.of(hook.path)[0]?.json.data['values']).toMatchObject({ name: inside.name });
    await until(async () => (await deliveries(hook)).length === 2);
    expect(JSON.stringify(await deliveries(hook))).not.toContain(inside.name);
  });

  it('retries a failed change before it sends later changes, and skips it on request', async () => {
    const hook = await create();
    receiver.answer = (path) => (path === hook.path ? 500 : 204);
    const users = [await service.createUser(), await service.createUser()];
    await until(async () => (await show(hook))['state'] === 'failing');
    expect(await show(hook)).toMatchObject({ last_status: 500, failing_since: expect.any(String) });
    await arrived(hook.path, 2);
    expect(names(hook.path)).toEqual([users[0]?.user_id, users[0]?.user_id]);
    expect(await deliveries(hook, 'failed=true')).toMatchObject([
      { attempt: 2, status: 500, response: 'answer 500', kind: 'change', type: 'user.created' },
      { attempt: 1, status: 500 },
    ]);
    receiver.answer = () => 204;
    expect((await act(hook, 'skip')).status).toBe(202);
    await arrived(hook.path, 3);
    expect(names(hook.path)[2]).toBe(users[1]?.user_id);
    await until(async () => (await show(hook))['state'] === 'active');
    expect(await show(hook)).toMatchObject({ behind_seconds: 0, last_status: 204, failing_since: null });
  });

  it('follows no redirect, and disables a webhook whose target is gone', async () => {
    const hook = await create();
    receiver.answer = (path) => (path === hook.path ? 410 : 204);
    await service.createUser();
    await until(async () => (await show(hook))['state'] === 'disabled');
    expect(await show(hook)).toMatchObject({ disabled_reason: 'gone', last_status: 410 });
    await until(() => service.mailbox.mails.some(({ source }) => source.includes('A webhook was disabled')));
    for (const action of ['test', 'skip']) expect((await act(hook, action)).body.code).toBe('webhook.disabled');
    receiver.answer = (path) => (path === hook.path ? 302 : 204);
    expect((await act(hook, 'enable')).body).toMatchObject({ state: 'active', disabled_reason: null });
    await until(async () => (await show(hook))['state'] === 'failing');
    expect(receiver.of('/elsewhere')).toEqual([]);
    receiver.answer = () => 204;
  });

  it('disables a webhook after three days without success, and keeps its place', async () => {
    const hook = await create();
    receiver.answer = (path) => (path === hook.path ? 503 : 204);
    const user = await service.createUser();
    await until(async () => (await show(hook))['state'] === 'failing');
    await service.rows(
      `update webhooks set failing_since = now() - interval '73 hours', next_attempt_at = now() where webhook_id = $1`,
      [hook.webhook_id],
    );
    await until(async () => (await show(hook))['disabled_reason'] === 'failed');
    receiver.answer = () => 204;
    await act(hook, 'enable');
    await arrived(hook.path, 3);
    expect(names(hook.path)).toEqual([user.user_id, user.user_id, user.user_id]);
  });

  it('sends tests and retries out of order, and replays from a cursor or time', async () => {
    const hook = await create();
    const start = new Date().toISOString();
    const { changes_cursor } = (await service.get('/user/list?per_page=1', admin)).body as { changes_cursor: string };
    const user = await service.createUser();
    await arrived(hook.path, 1);
    await act(hook, 'test');
    await arrived(hook.path, 2);
    expect(receiver.of(hook.path)[1]?.json).toMatchObject({ type: 'webhook.test' });
    await until(async () => (await deliveries(hook, 'kind=change')).length === 1);
    const [first] = await deliveries(hook, 'kind=change');
    await act(hook, `delivery/${String(first?.['delivery_id'])}/retry`);
    await arrived(hook.path, 3);
    expect(receiver.of(hook.path)[2]?.headers['webhook-id']).toBe(first?.['change_id']);
    for (const after of [changes_cursor, start]) {
      const before = receiver.of(hook.path).length;
      expect((await act(hook, 'replay', { after })).status).toBe(202);
      await until(() => names(hook.path).slice(before).includes(user.user_id));
    }
    const missing = `delivery/${user.user_id}/retry`;
    expect((await act(hook, missing)).body.code).toBe('delivery.not_found');
    expect((await act(hook, 'replay', { after: 'x' })).body.code).toBe('page.cursor_invalid');
  });

  it('signs with both secrets until the old secret expires', async () => {
    const hook = await create();
    const rotated = await act(hook, 'rotate-secret', { keep_old_seconds: 60 });
    await service.createUser();
    await arrived(hook.path, 1);
    const [{ headers, body } = { headers: {}, body: '' }] = receiver.of(hook.path);
    for (const { secret } of [hook, rotated.body as Hook])
      expect(() => new Webhook(secret).verify(body, headers as Record<string, string>)).not.toThrow();
    await act(hook, 'rotate-secret', { keep_old_seconds: 0 });
    await service.createUser();
    await arrived(hook.path, 2);
    const last = receiver.of(hook.path)[1];
    expect(() => new Webhook((rotated.body as Hook).secret).verify(last?.body ?? '', last?.headers as never)).toThrow();
  });

  it('does not let hanging and failing webhooks delay other webhooks (W11)', async () => {
    const good = await create({ carrier_scope: ['crowd'] });
    await service.createUser({ carrier_id: 'crowd' });
    await arrived(good.path, 1);
    // Webhooks without an attempt come first, so the hanging ones take all slots.
    const hanging = await Promise.all(Array.from({ length: 55 }, () => create({ carrier_scope: ['crowd'] })));
    const hangs = new Set(hanging.map(({ path }) => path));
    receiver.answer = (path) => (hangs.has(path) ? null : 204);
    await service.createUser({ carrier_id: 'crowd' });
    await arrived(good.path, 2);
    // No hanging request has ended yet: the good one did not wait for any.
    expect(await deliveries(hanging[0] as Hook)).toEqual([]);
    for (const { webhook_id } of hanging) await act({ webhook_id }, 'disable');
    for (const response of receiver.held.splice(0)) response.writeHead(204).end();
    receiver.answer = () => 204;
  });

  it('sends nothing after the deletion of a webhook (W12)', async () => {
    const hook = await create();
    receiver.answer = (path) => (path === hook.path ? null : 204);
    await service.createUser();
    await service.createUser();
    await arrived(hook.path, 1);
    const deleting = service.delete(`/webhook/${hook.webhook_id}`, admin);
    const isDeleted = async () =>
      (await service.rows('select 1 from webhooks where webhook_id = $1', [hook.webhook_id])).length === 0;
    expect(await isDeleted()).toBe(false);
    for (const response of receiver.held.splice(0)) response.writeHead(204).end();
    expect((await deleting).status).toBe(204);
    const other = await create();
    await service.createUser();
    await arrived(other.path, 1);
    expect(receiver.of(hook.path)).toHaveLength(1);
    receiver.answer = () => 204;
  });

  it('disables a webhook whose creator is disabled or loses a permission (W9)', async () => {
    const body = { name: 'hooks', user_types: ['system'], permissions: ['webhook:manage', 'change:read', 'user:read'] };
    await service.post('/role/create', { ...admin, body });
    const creators = await Promise.all([0, 1].map(() => service.loginAs({ user_type: 'system', roles: ['hooks'] })));
    const [first, second] = creators as unknown as [TestLogin, TestLogin];
    const [one, two] = [await create({}, first), await create({ include_values: true }, second)];
    await service.patch(`/user/${first.user_id}`, { ...admin, body: { status: 'disabled' } });
    await service.patch('/role/hooks', { ...admin, body: { permissions: ['webhook:manage', 'change:read'] } });
    await service.createUser();
    for (const hook of [one, two]) {
      await until(async () => (await show(hook))['state'] === 'disabled');
      expect(await show(hook)).toMatchObject({ disabled_reason: 'creator' });
      expect(receiver.of(hook.path)).toEqual([]);
    }
    // A caller who may not read users must not send their values to another target.
    const answer = await service.patch(`/webhook/${two.webhook_id}`, {
      ...{ token: second.token, body: { url: receiver.url('/stolen') } },
    });
    expect(answer).toMatchObject({ status: 403, body: { code: 'access.denied' } });
  });

  it('narrows the scope of a webhook with the scope of its creator (W9)', async () => {
    const role = { name: 'hooks2', user_types: ['system'], permissions: ['webhook:manage', 'change:read'] };
    await service.post('/role/create', { ...admin, body: role });
    const creator = await service.loginAs({ user_type: 'system', roles: ['hooks2'] });
    const hook = await create({}, creator);
    await service.patch(`/user/${creator.user_id}`, { ...admin, body: { carrier_scope: ['mine'] } });
    await service.createUser({ carrier_id: 'theirs' });
    const mine = await service.createUser({ carrier_id: 'mine' });
    await arrived(hook.path, 1);
    expect(names(hook.path)).toEqual([mine.user_id]);
    const wider = await service.post('/webhook/create', {
      token: (await service.login(creator.name)).token,
      body: { url: receiver.url('/wide'), carrier_scope: ['theirs'] },
    });
    expect(wider.body.code).toBe('access.grant_exceeds_own');
  });

  it('rejects the creation of a webhook with an API key (W8)', async () => {
    const { key } = await createKey(service, ['*']);
    const answer = await service.post('/webhook/create', { token: key, body: { url: receiver.url('/key') } });
    expect(answer.status).toBe(403);
  });

  it('hides webhooks outside the scope (W10)', async () => {
    const hook = await create();
    const role = { name: 'hooks3', user_types: ['carrier'], permissions: ['webhook:manage'] };
    await service.post('/role/create', { ...admin, body: role });
    const outsider = await service.loginAs({ carrier_id: 'far', roles: ['hooks3'] });
    expect((await service.get(`/webhook/${hook.webhook_id}`, outsider)).status).toBe(404);
    expect((await service.get('/webhook/list', outsider)).body.items).toEqual([]);
    for (const action of ['skip', 'test', 'enable'])
      expect((await service.post(`/webhook/${hook.webhook_id}/${action}`, outsider)).status).toBe(404);
    expect((await service.delete(`/webhook/${hook.webhook_id}`, outsider)).status).toBe(404);
  });

  it('loses no change when PostgreSQL crashes', async () => {
    const hook = await create();
    const created: string[] = [];
    for (let count = 0; count < 10; count++) created.push((await service.createUser()).user_id);
    await arrived(hook.path, 2);
    const [backend] = await service.rows<{ pid: number }>(
      `select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() limit 1`,
    );
    // A killed backend makes the server end all others and recover from its log.
    process.kill(Number(backend?.pid), 'SIGKILL');
    const connects = () => service.rows('select 1').then(Boolean, () => false);
    await until(async () => !(await connects()));
    await until(connects);
    await until(async () => (await service.get('/health/ready')).status === 200);
    // The test server does not wait for its disk: the last users can be lost, with their changes.
    const kept = await service.rows<{ user_id: string }>('select user_id from users where user_id = any($1)', [
      created,
    ]);
    expect(kept.length).toBeGreaterThan(0);
    await until(() => kept.every(({ user_id }) => names(hook.path).includes(user_id)));
  });

  it('loses no change when the process that sends is killed', async () => {
    const hook = await create();
    const victim = await ServiceProcess.beside(service);
    receiver.answer = (path) => (path === hook.path ? null : 204);
    // The other process sends, because this one is stopped.
    process.kill(service.pid, 'SIGSTOP');
    const users: string[] = [];
    for (let count = 0; count < 5; count++) users.push((await victim.createUser({}, admin)).user_id);
    await arrived(hook.path, 1);
    await victim.kill();
    process.kill(service.pid, 'SIGCONT');
    receiver.answer = () => 204;
    await arrived(hook.path, 6);
    expect(names(hook.path)).toEqual([users[0], ...users]);
  });
});
