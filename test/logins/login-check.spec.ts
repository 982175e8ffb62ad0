import type { Browser } from 'playwright-core';
import { openBrowser } from '../support/console/browser';
import { codeAt, currentStep, enrolApp, forgetSteps } from '../support/logins/factors';
import { importRow, importRows } from '../support/data/imports';
import { queueEmpty } from '../support/data/links';
import { loginWithPasskey, PasskeyBrowser, passkeyHolder } from '../support/logins/passkeys';
import { password, type TestAnswer, type TestLogin, TestService } from '../support/service';
import { until } from '../support/until';

const home = '198.51.100.20';
const strange = '203.0.113.9';
const wrong = `${password}!`;
const time = expect.any(String) as unknown;
const outcomeOf = ({ status, body }: TestAnswer): string => [status, body?.code].filter(Boolean).join(' ');
const refused = '401 auth.invalid_credentials';

/** Each test also logs in: the check and the login must agree. */
describe('the login check', () => {
  let service: TestService;
  let operator: TestLogin & { name: string };
  beforeAll(async () => {
    service = await TestService.start({ LOCKOUT_HARD_LIMIT: '6' });
    operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
  });
  afterAll(() => service.close());

  const login = (name: string, secret = password, ip = home) =>
    service.post('/auth/login', { body: { login: name, password: secret }, ip });
  const check = (user_id: string, { token }: { token: string } = service.admin) =>
    service.get(`/user/${user_id}/login-check`, { token });
  const causesOf = async (user_id: string) => (await check(user_id)).body.causes;
  const change = (user_id: string, body: object, { token } = operator) =>
    service.patch(`/user/${user_id}`, { token, body });
  const bySelf = () => ({ actor_type: 'user', actor_id: operator.user_id, name: operator.name });
  const failTimes = async (times: number, name: string, ip?: string) => {
    for (let time = 0; time < times; time++) await login(name, wrong, ip);
  };

  it('finds no cause for a user who can log in', async () => {
    const { user_id, name } = await service.createUser();
    expect((await check(user_id)).body).toEqual({ can_log_in: true, causes: [], mails: [], recent_refusals: [] });
    expect((await login(name)).status).toBe(200);
  });

  it('names `deleted` with the actor, to callers who may read deleted users', async () => {
    const { user_id, name } = await service.createUser();
    await service.delete(`/user/${user_id}`, operator);
    expect(outcomeOf(await login(name))).toBe(refused);
    expect((await check(user_id)).body).toMatchObject({
      can_log_in: false,
      causes: [{ code: 'deleted', blocks: true, since: time, by: bySelf(), remedies: ['restore'] }],
    });
    await service.rows(
      `insert into roles (name, user_types, permissions) values ('reader', '{system}', '{user:read}')`,
    );
    const reader = await service.loginAs({ user_type: 'system', roles: ['reader'] });
    expect(outcomeOf(await check(user_id, reader))).toBe('404 user.not_found');
    await service.post(`/user/${user_id}/restore`, operator);
    expect(await causesOf(user_id)).toEqual([]);
    expect((await login(name)).status).toBe(200);
  });

  it('names `disabled` with the actor, the time and the operation, also after wrong passwords', async () => {
    const { user_id, name } = await service.createUser();
    const body = { status: 'disabled' };
    const { operation_id } = (await service.patch(`/user/all?user_id=${user_id}`, { token: operator.token, body }))
      .body;
    expect(outcomeOf(await login(name))).toBe(refused);
    await failTimes(2, name);
    expect(await causesOf(user_id)).toEqual([
      { code: 'disabled', blocks: true, since: time, by: bySelf(), evidence: { operation_id }, remedies: ['enable'] },
    ]);
    await change(user_id, { status: 'active' });
    expect(await causesOf(user_id)).toEqual([]);
    expect((await login(name)).status).toBe(200);
  });

  it('names `locked` with the address of the wrong passwords, until an unlock', async () => {
    const { user_id, name } = await service.createUser();
    await failTimes(5, name, strange);
    expect(outcomeOf(await login(name))).toBe('429 auth.too_many_attempts');
    const evidence = { failures: 5, unknown_addresses: true, addresses: [], ip: strange };
    expect(await causesOf(user_id)).toEqual([
      { code: 'locked', blocks: true, since: time, until: time, evidence, remedies: ['unlock'] },
    ]);
    await service.post(`/user/${user_id}/unlock`, operator);
    expect(await causesOf(user_id)).toEqual([]);
    expect((await login(name)).status).toBe(200);
  });

  it('names `locked` for a known address, and without an end if only an unlock ends it', async () => {
    const { user_id, name } = await service.createUser();
    expect((await login(name)).status).toBe(200);
    await failTimes(5, name);
    const elapse = `update login_attempts set locked_until = now() where account = $1 and locked_until is not null`;
    await service.rows(elapse, [user_id]);
    expect(await causesOf(user_id)).toEqual([]);
    await failTimes(1, name);
    expect(outcomeOf(await login(name))).toBe('429 auth.too_many_attempts');
    const [cause] = await causesOf(user_id);
    expect(cause).toMatchObject({
      code: 'locked',
      evidence: { failures: 6, unknown_addresses: false, addresses: [home] },
    });
    expect(cause).not.toHaveProperty('until');
    expect((await login(name, password, strange)).status).toBe(200);
  });

  it('names `codes_locked` after wrong codes', async () => {
    const user = await service.loginAs();
    const { secret } = await enrolApp(service, user);
    const sendCode = async (code: string) => {
      const { challenge } = (await login(user.name)).body;
      return service.post('/auth/second-factor', { body: { challenge, code }, ip: home });
    };
    for (let time = 0; time < 5; time++) expect((await sendCode('000000')).status).toBe(401);
    await forgetSteps(service);
    expect(outcomeOf(await sendCode(codeAt(secret, await currentStep(service))))).toBe('429 auth.too_many_attempts');
    expect((await check(user.user_id)).body).toMatchObject({
      can_log_in: false,
      causes: [{ code: 'codes_locked', blocks: true, since: time, until: time, evidence: { failures: 5, ip: home } }],
    });
    await service.post(`/user/${user.user_id}/unlock`, operator);
    expect(await causesOf(user.user_id)).toEqual([]);
    expect((await sendCode(codeAt(secret, await currentStep(service)))).status).toBe(200);
  });

  it('names `invited` until the user sets a password', async () => {
    const { user_id, name, email } = await service.inviteUser();
    const { token } = await service.mailbox.take(email);
    await queueEmpty(service);
    expect(outcomeOf(await login(name))).toBe(refused);
    const body = (await check(user_id)).body;
    const cause = { code: 'invited', blocks: true, since: time, until: time, evidence: { invitation: 'valid' } };
    expect(body).toMatchObject({
      causes: [{ ...cause, remedies: ['invite', 'correct_email'] }],
      mails: [{ kind: 'invitation', state: 'sent', sent_at: time }],
    });
    const { expires_at } = (await service.get(`/auth/reset/${token}`)).body;
    expect(body.causes[0].until).toBe(expires_at);
    await service.post(`/auth/reset/${token}`, { body: { password } });
    expect((await check(user_id)).body).toMatchObject({ can_log_in: true, causes: [], mails: [] });
    expect((await login(name)).status).toBe(200);
  });

  it('names `invited` for an imported user who was never invited', async () => {
    await importRows(service, [importRow('uninvited')], service.admin);
    const { user_id } = (await service.get('/user/list?name=uninvited', service.admin)).body.items[0];
    expect(await causesOf(user_id)).toEqual([
      { code: 'invited', blocks: true, evidence: { invitation: 'none' }, remedies: ['invite', 'correct_email'] },
    ]);
  });

  it('names `invitation_expired` as soon as the link no longer works', async () => {
    const { user_id, name, email } = await service.inviteUser();
    const { token } = await service.mailbox.take(email);
    await queueEmpty(service);
    await service.rows(`update one_time_tokens set expires_at = now() where user_id = $1`, [user_id]);
    expect((await service.get(`/auth/reset/${token}`)).status).toBe(404);
    expect(outcomeOf(await login(name))).toBe(refused);
    expect(await causesOf(user_id)).toMatchObject([{ code: 'invitation_expired', blocks: true, since: time }]);
    await service.post(`/user/${user_id}/invite`, operator);
    await service.mailbox.take(email);
    expect(await causesOf(user_id)).toMatchObject([{ code: 'invited' }]);
  });

  it('names `password_voided` after the account was secured', async () => {
    const { user_id, name, email } = await service.createUser();
    await service.post(`/user/${user_id}/secure`, { token: operator.token, body: {} });
    expect(outcomeOf(await login(name))).toBe(refused);
    const remedies = ['secure', 'correct_email'];
    expect(await causesOf(user_id)).toEqual([
      { code: 'password_voided', blocks: true, since: time, by: bySelf(), remedies },
    ]);
    const { token } = await service.mailbox.take(email, /secured/);
    await service.post(`/auth/reset/${token}`, { body: { password } });
    expect(await causesOf(user_id)).toEqual([]);
    expect((await login(name)).status).toBe(200);
  });

  it('names `password_expired` after an initial password was not used for 7 days', async () => {
    const { user_id, name } = await service.createUser();
    await service.rows(`update credentials set expires_at = now() where user_id = $1`, [user_id]);
    expect(outcomeOf(await login(name))).toBe(refused);
    expect(await causesOf(user_id)).toMatchObject([{ code: 'password_expired', blocks: true, since: time }]);
  });

  it('names `address_not_allowed` until a login succeeds or the network is allowed', async () => {
    const { user_id, name } = await service.createUser({ allowed_ips: ['198.51.100.0/24'] });
    expect(await causesOf(user_id)).toEqual([]);
    expect(outcomeOf(await login(name, password, strange))).toBe('403 auth.ip_not_allowed');
    expect(await causesOf(user_id)).toEqual([
      {
        code: 'address_not_allowed',
        blocks: true,
        since: time,
        evidence: { ip: strange, allowed_ips: ['198.51.100.0/24'] },
        remedies: ['change_allowed_ips'],
      },
    ]);
    await change(user_id, { allowed_ips: ['198.51.100.0/24', '203.0.113.0/24'] });
    expect(await causesOf(user_id)).toEqual([]);
    expect((await login(name, password, strange)).status).toBe(200);
    await change(user_id, { allowed_ips: ['198.51.100.0/24'] });
    expect(await causesOf(user_id)).toEqual([]);
  });

  it('names `address_blocked` while the address is blocked, without the network for carriers (Z3)', async () => {
    const { user_id, name } = await service.createUser();
    expect((await login(name, password, '192.0.2.20')).status).toBe(200);
    const block = async (network: string) => {
      const expires_at = new Date(Date.now() + 60_000).toISOString();
      const created = await service.post('/address-block/create', {
        token: operator.token,
        body: { network, expires_at },
      });
      return created.body.address_block_id as string;
    };
    const address_block_id = await block('192.0.2.16/28');
    expect(outcomeOf(await login(name, password, '192.0.2.20'))).toBe('429 auth.too_many_attempts');
    const evidence = { ip: '192.0.2.20', network: '192.0.2.16/28', address_block_id };
    expect(await causesOf(user_id)).toEqual([
      { code: 'address_blocked', blocks: true, since: time, until: time, evidence, remedies: ['remove_address_block'] },
    ]);
    // Only callers who may list blocks see the network (Z3).
    const administrator = await service.loginAs({ roles: ['carrier_administrator'] });
    expect((await check(user_id, administrator)).body.causes[0].evidence).toEqual({ ip: '192.0.2.20' });
    await service.delete(`/address-block/${address_block_id}`, operator);
    expect(await causesOf(user_id)).toEqual([]);
    expect((await login(name, password, '192.0.2.20')).status).toBe(200);
    // An attacker at another address does not lock the user out.
    await login(name, wrong, '192.0.2.77');
    await block('192.0.2.77/32');
    expect((await check(user_id)).body).toMatchObject({
      can_log_in: true,
      causes: [{ code: 'address_blocked', blocks: false, evidence: { ip: '192.0.2.77' } }],
    });
    expect((await login(name, password, '192.0.2.20')).status).toBe(200);
  });

  it.each([
    ['password_change_required', { must_change_password: true }],
    ['second_factor_enrollment_required', { second_factor_required_from: '2020-01-01T00:00:00Z' }],
  ])('names `%s`, which restricts the session', async (code, fields) => {
    const { user_id, name } = await service.createUser({ ...fields, roles: ['carrier_administrator'] });
    expect((await check(user_id)).body).toMatchObject({
      can_log_in: true,
      causes: [{ code, blocks: false, remedies: [] }],
    });
    const { status, body } = await login(name);
    expect(status).toBe(200);
    expect(outcomeOf(await service.get('/user/list', { token: body.access_token }))).toBe(`403 auth.${code}`);
  });

  it('lists blocking causes first, in the order of the contract', async () => {
    const { user_id, name } = await service.createUser({ must_change_password: true });
    await failTimes(5, name);
    await service.post(`/user/${user_id}/secure`, { token: operator.token, body: {} });
    await change(user_id, { status: 'disabled' });
    await service.delete(`/user/${user_id}`, operator);
    const codes = (await causesOf(user_id)).map(({ code }: { code: string }) => code);
    expect(codes).toEqual(['deleted', 'disabled', 'locked', 'password_voided', 'password_change_required']);
  });

  describe('with a passkey', () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await openBrowser();
    });
    afterAll(() => browser.close());

    it('blocks nothing that a login with the passkey ignores', async () => {
      const device = await PasskeyBrowser.open(browser);
      const holder = await passkeyHolder(service, device);
      await failTimes(5, holder.name);
      await service.post(`/user/${holder.user_id}/secure`, { token: operator.token, body: { factors: 'keep' } });
      const { can_log_in, causes } = (await check(holder.user_id)).body;
      expect(causes).toMatchObject([
        { code: 'locked', blocks: false },
        { code: 'password_voided', blocks: false },
      ]);
      expect(can_log_in).toBe(true);
      expect((await loginWithPasskey(service, device)).status).toBe(200);
    });
  });

  describe('the mails and refusals', () => {
    it('shows the response of the mail server, and the corrected address', async () => {
      const email = 'mistyped@example.com';
      service.mailbox.unknown.add(email);
      const { user_id } = await service.inviteUser({ email });
      const mails = async () => (await check(user_id)).body.mails;
      await until(async () => (await mails())[0]?.state === 'retrying');
      expect(await mails()).toEqual([
        {
          mail_id: time,
          kind: 'invitation',
          state: 'retrying',
          attempts: 1,
          last_error: expect.stringContaining('no mailbox of') as unknown,
        },
      ]);
      const failing = async () =>
        (await service.get(`/mail/list?user_id=${user_id}&failing=true`, service.admin)).body.items;
      expect(await failing()).toMatchObject([{ kind: 'invitation', failing: true }]);
      await change(user_id, { email: 'corrected@example.com' });
      await service.mailbox.take('corrected@example.com');
      await queueEmpty(service);
      expect(await mails()).toMatchObject([{ kind: 'invitation', state: 'sent', sent_at: time }]);
      expect(await failing()).toEqual([]);
    });

    it('lists the ten newest refusals with reason and address', async () => {
      const { user_id, name } = await service.createUser({ allowed_ips: ['198.51.100.0/24'] });
      for (let round = 0; round < 3; round++) {
        await failTimes(4, name);
        await service.post(`/user/${user_id}/unlock`, operator);
      }
      await login(name, password, strange);
      const { recent_refusals } = (await check(user_id)).body;
      expect(recent_refusals).toHaveLength(10);
      expect(recent_refusals.slice(0, 2)).toEqual([
        { occurred_at: time, reason: 'auth.ip_not_allowed', ip: strange },
        { occurred_at: time, reason: 'auth.invalid_credentials', ip: home },
      ]);
    });

    it('shows mails and refusals only with their permissions, and nothing outside the scope (Z3)', async () => {
      const [mine, other] = [await service.createUser(), await service.createUser({ carrier_id: 'c2' })];
      await change(mine.user_id, { status: 'disabled' });
      const administrator = await service.loginAs({ roles: ['carrier_administrator'] });
      const { body } = await check(mine.user_id, administrator);
      expect(Object.keys(body as object)).toEqual(['can_log_in', 'causes']);
      expect(body.causes[0].by).toEqual({ ...bySelf(), name: null });
      expect(outcomeOf(await check(other.user_id, administrator))).toBe('404 user.not_found');
      expect(outcomeOf(await check(operator.user_id, administrator))).toBe('404 user.not_found');
    });
  });
});
