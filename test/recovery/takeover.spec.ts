import type { FirstAdministrator } from '../../src/auth/recovery/first-administrator.service';
import { changesOf } from '../support/data/events';
import { confirmApp, enrolApp } from '../support/logins/factors';
import { createKey } from '../support/data/keys';
import { endMailLimits, queueEmpty } from '../support/data/links';
import { inTransaction, lockWaits } from '../support/locks';
import { partsOf } from '../support/network/mail-parts';
import { Authenticator } from '../support/logins/second-factors';
import { password, type TestLogin, TestService } from '../support/service';
import { changeSession } from '../support/data/session-rows';

const another = 'a thief knows this phrase';
const own = 'the owner has it again';
type User = TestLogin & { name: string; email: string };

describe('attempts to keep or take over a login', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  /** Creates the link of `admin-recover`. */
  const recover = async (login: string) =>
    new URL(await service.inside<FirstAdministrator>('FirstAdministrator').recover(login)).pathname;
  async function resetLink(email: string): Promise<string> {
    expect((await service.post('/auth/reset_email', { body: { email } })).status).toBe(202);
    return `/auth/reset/${(await service.mailbox.take(email, /auth\/reset/)).token}`;
  }

  it('lets a reset win over a password change that runs at the same time (S12)', async () => {
    for (const isResetFirst of [false, true]) {
      const user = await service.loginAs({ roles: ['carrier_user'] });
      const link = await resetLink(user.email);
      const body = { current_password: password, new_password: another };
      const change = () => service.post('/auth/password', { token: user.token, body });
      const reset = () => service.post(link, { body: { password: own } });
      const answers = await inTransaction(service, async (other) => {
        await other.query('select 1 from users where user_id = $1 for update', [user.user_id]);
        const first = isResetFirst ? reset() : change();
        await lockWaits(service);
        const second = isResetFirst ? change() : reset();
        await lockWaits(service, 2);
        await other.query('commit');
        return Promise.all([first, second]);
      });
      expect(answers.map(({ status }) => status)).toEqual(isResetFirst ? [204, 401] : [204, 204]);
      const works = (secret: string) => service.post('/auth/login', { body: { login: user.email, password: secret } });
      expect((await works(another)).status).toBe(401);
      expect((await works(own)).status).toBe(200);
    }
  });

  it('invalidates the confirmation of a proposed address at a reset (E1)', async () => {
    const user = await service.loginAs({ roles: ['carrier_user'] });
    const body = { email: 'evil1@example.com', current_password: password };
    expect((await service.post('/auth/email', { token: user.token, body })).status).toBe(202);
    const { token } = await service.mailbox.take('evil1@example.com');
    expect((await service.post(await resetLink(user.email), { body: { password: another } })).status).toBe(204);
    expect((await service.post(`/auth/email/${token}`)).status).toBe(404);
    expect((await service.get(`/user/${user.user_id}`, service.admin)).body).toMatchObject({
      email: user.email,
      email_pending: null,
    });
  });

  it('changes no own address with a stolen token and no password (E2)', async () => {
    const move = (email: string) =>
      service.patch(`/user/${service.admin.user_id}`, { ...service.admin, body: { email } });
    expect((await move('evil3@example.com')).body).toMatchObject({ status: 403, code: 'user.self_protected' });
    expect((await move('ADMIN@example.com')).status).toBe(200);
  });

  it('rejects allowed_ips without the own address, and recovers a user who is locked out (L11)', async () => {
    const body = { allowed_ips: ['203.0.113.0/24'] };
    const refused = await service.patch(`/user/${service.admin.user_id}`, { ...service.admin, body });
    expect([refused.status, refused.body.code]).toEqual([403, 'user.self_protected']);
    await service.rows('update users set allowed_ips = $1 where user_id = $2', [
      body.allowed_ips,
      service.admin.user_id,
    ]);
    expect((await service.post(await recover('administrator'), { body: { password: another } })).status).toBe(204);
    await service.login('administrator', another).then((login) => Object.assign(service.admin, login));
  });

  it('keeps a shown link valid after reset requests and a password change, until a reset (L11)', async () => {
    const { name, email, token } = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const [first, second] = [await recover(name), await recover(name)];
    expect((await service.get(first)).status).toBe(404);
    const mailed = await resetLink(email);
    await service.post('/auth/password', { token, body: { current_password: password, new_password: another } });
    expect((await service.get(second)).body.kind).toBe('reset');
    expect((await service.post(mailed, { body: { password: 'a phrase by mail instead' } })).status).toBe(204);
    expect((await service.get(second)).status).toBe(404);
    expect((await service.post(await recover(name), { body: { password: 'a phrase by terminal' } })).status).toBe(204);
  });

  it('recovers any user who counts as administrator by the permission, and no other (L11)', async () => {
    await service.rows(
      `
        insert into roles (name, user_types, permissions)
        values ('owner', '{system}', '{*}'), ('most', '{system}', '{user:read}')`,
    );
    const owner = await service.createUser({ user_type: 'system', roles: ['owner'] });
    const other = await service.createUser({ user_type: 'system', roles: ['most'] });
    expect((await service.post(await recover(owner.name), { body: { password: another } })).status).toBe(204);
    await service.login(owner.name, another);
    for (const login of [other.name, 'unknown.name']) await expect(recover(login)).rejects.toThrow();
  });

  it('skips the record of activity during a change of the same user, without a deadlock (S4)', async () => {
    const { user_id, token } = await service.loginAs({ roles: ['carrier_user'] });
    await service.rows(`update sessions set last_seen_at = now() - interval '5 minutes' where user_id = $1`, [user_id]);
    await inTransaction(service, async (other) => {
      await other.query('select 1 from users where user_id = $1 for update', [user_id]);
      expect((await service.get('/user', { token })).status).toBe(200);
      await other.query(`update sessions set ended_at = now(), ended_reason = 'revoked' where user_id = $1`, [user_id]);
      await other.query('commit');
    });
    await service.rows('select 1');
    expect((await service.get('/user', { token })).status).toBe(401);
  });

  it('stores only the address in a header of the proxy, without port, zone or other text (S18)', async () => {
    const { name } = await service.createUser();
    for (const [forwarded, ip] of [
      ['1.2.3.4:5678', '1.2.3.4'],
      ['[2001:db8::1]:443', '2001:db8::1'],
      ['fe80::1%eth0', 'fe80::1'],
      ['::ffff:10.0.0.1', '10.0.0.1'],
      ['unknown', null],
    ] as const) {
      const headers = { 'x-forwarded-for': forwarded };
      const { status, body } = await service.post('/auth/login', { body: { login: name, password }, headers });
      expect([forwarded, status, body.user?.last_login_ip]).toEqual([forwarded, 200, ip]);
    }
  });

  describe('a link with which the owner of a mailbox undoes changes', () => {
    let user: User;
    let count = 0;
    beforeEach(async () => {
      await endMailLimits(service);
      user = await service.loginAs({ roles: ['carrier_user'] });
    });
    const admin = () => service.admin.token;
    const stored = async () => (await service.get(`/user/${user.user_id}`, { token: admin() })).body;
    const loginStatus = async (secret: string) =>
      (await service.post('/auth/login', { body: { login: user.name, password: secret } })).status;
    const changePassword = (current_password: string, new_password: string) =>
      service.post('/auth/password', { token: user.token, body: { current_password, new_password } });
    const propose = (email: string, current_password = password) =>
      service.post('/auth/email', { token: user.token, body: { email, current_password } });
    const use = (link: string | null, secret = own) =>
      service.post(`/auth/reset/${link}`, { body: { password: secret } });
    const check = async (link: string | null) => {
      const { status, body } = await service.get(`/auth/reset/${link}`);
      return status === 200 ? body.kind : status;
    };
    const linkIn = async (subject: RegExp, email = user.email) => (await service.mailbox.take(email, subject)).token;
    const eventsOf = (type: string, target_id: string) => changesOf(service, type, target_id);
    const factorsOf = async () => {
      const factors = 'select name from second_factors where user_id = $1 order by name';
      return (await service.rows<{ name: string }>(factors, [user.user_id])).map(({ name }) => name);
    };

    /** Moves the user to a thief's address, as a thief with the password and the session can. */
    async function moveAddress(secret: string): Promise<string> {
      const email = `moved${++count}@example.net`;
      expect((await propose(email, secret)).status).toBe(202);
      expect((await service.post(`/auth/email/${await linkIn(/\/auth\/email\//, email)}`)).status).toBe(204);
      return email;
    }

    /** Enrols an authenticator app with the session of the user. */
    async function enrol(name: string): Promise<string> {
      const added = await service.post('/auth/factor/totp', { token: user.token, body: { name } });
      expect((await confirmApp(service, user, added.body)).status).toBe(200);
      return added.body.factor_id as string;
    }

    it('is mailed without voiding a reset link of the owner (R30)', async () => {
      await service.post('/auth/reset_email', { body: { email: user.email } });
      const link = await linkIn(/Subject: Set a new password/);
      expect((await changePassword(password, another)).status).toBe(204);
      expect(await check(link)).toBe('reset');
      expect((await propose('thief@example.net', another)).status).toBe(202);
      expect((await propose('thief2@example.net', another)).status).toBe(202);
      expect(await check(link)).toBe('reset');
      expect((await use(link)).status).toBe(204);
      expect(await stored()).toMatchObject({ email: user.email, email_pending: null });
      expect([await loginStatus(another), await loginStatus(own)]).toEqual([401, 200]);
    });

    it.each([
      ['a new password', /Subject: Your password was changed/, () => changePassword(password, another)],
      ['a proposed address', /Subject: A new e-mail address/, () => propose(`${++count}@example.net`)],
      ['an enrolled factor', /Subject: A second factor was added/, () => enrol('app')],
      [
        'a removed factor',
        /Subject: A second factor was removed/,
        async () => {
          const { factor_id } = await enrolApp(service, user);
          await service.rows(`delete from one_time_tokens where user_id = $1`, [user.user_id]);
          await service.delete(`/auth/factor/${factor_id}`, user);
        },
      ],
    ])(
      'is in the mail about %s by the session of the user, and sets a new password once (R30)',
      async (_what, subject, change) => {
        await change();
        const mail = await service.mailbox.take(user.email, subject);
        expect(await check(mail.token)).toBe('not_me');
        expect((await use(mail.token)).status).toBe(204);
        expect((await service.get('/user', user)).status).toBe(401);
        expect(await loginStatus(own)).toBe(200);
        expect(await check(mail.token)).toBe(404);
        expect((await use(mail.token, 'an entirely new phrase')).body.code).toBe('reset.token_invalid');
        const reset = await service.mailbox.take(user.email, /Subject: Your password was changed/);
        expect(reset.token).toBeNull();
      },
    );

    it('restores the address, and removes API keys and factors that a thief added or rotated (R30, R26)', async () => {
      user = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
      const before = await createKey(service, ['user:read'], { name: 'older' }, user);
      const createWebhook = () =>
        service.post('/webhook/create', {
          token: user.token,
          body: { url: 'https://one.example', type_in: ['role.deleted'] },
        });
      expect((await createWebhook()).status).toBe(201);
      expect((await changePassword(password, another)).status).toBe(204);
      const mail = await service.mailbox.take(user.email, /Subject: Your password was changed/);
      await enrol('app of the thief');
      const since = await createKey(service, ['user:read'], { name: 'of the thief' }, user);
      const shared = await createKey(service, ['user:read'], { name: 'of the module' });
      const rotation = { token: user.token, body: { keep_old_seconds: 3_600 } };
      const { key: stolen } = (await service.post(`/auth/key/${shared.key_id}/rotate`, rotation)).body;
      expect((await createWebhook()).status).toBe(201);
      const thief = await moveAddress(another);
      // A reset by the thief's mailbox voids no link that was mailed to another address.
      await endMailLimits(service);
      await service.post('/auth/reset_email', { body: { email: thief } });
      const reset = await linkIn(/Subject: Set a new password/, thief);
      expect((await use(reset, 'another phrase of the thief')).status).toBe(204);
      expect((await use(mail.token)).status).toBe(204);
      expect(await stored()).toMatchObject({ email: user.email, email_pending: null, second_factors: [] });
      expect(await factorsOf()).toEqual([]);
      expect(await loginStatus(own)).toBe(200);
      for (const token of [since.key, stolen]) expect((await service.get('/user/list', { token })).status).toBe(401);
      expect((await service.get('/user/list', { token: before.key })).status).toBe(200);
      expect(await eventsOf('key.revoked', since.key_id)).toHaveLength(1);
      const states = await service.rows('select state, disabled_reason from webhooks order by created_at');
      expect(states).toEqual([
        { state: 'active', disabled_reason: null },
        { state: 'disabled', disabled_reason: 'not_me' },
      ]);
      const name = { before: 'app of the thief' };
      expect(await eventsOf('factor.removed', user.user_id)).toMatchObject([{ name }]);
      expect((await eventsOf('password.reset', user.user_id)).at(-1)).toEqual({
        email: { before: thief, after: user.email },
        keys: { after: [{ key_id: before.key_id, name: 'older' }] },
      });
    });

    it('expires 24 hours after the last change, and at most 48 hours after the first change (R26)', async () => {
      let secret = password;
      const links = new Set<string | null>();
      /** Returns the hours until the expiry of the link about another change, some hours later. */
      const change = async (hoursLater: number) => {
        await service.rows(
          `update one_time_tokens
           set requested_at = requested_at - $1 * interval '1 hour', expires_at = expires_at - $1 * interval '1 hour'`,
          [hoursLater],
        );
        const next = `phrase of the thief ${Math.random()}`;
        expect((await changePassword(secret, next)).status).toBe(204);
        secret = next;
        const token = await linkIn(/Subject: Your password was changed/);
        links.add(token);
        const { expires_at } = (await service.get(`/auth/reset/${token}`)).body;
        return Math.round((Date.parse(expires_at) - Date.now()) / 3_600_000);
      };
      expect([await change(0), await change(20), await change(20), await change(6)]).toEqual([24, 24, 8, 2]);
      expect(links.size).toBe(1);
      expect(await change(2)).toBe(24);
      expect(links.size).toBe(2);
      expect(await check([...links][0] ?? null)).toBe(404);
    });

    it('is the same in all mails to the address, and undoes everything since the first change (R30)', async () => {
      const links = new Set<string | null>();
      expect((await changePassword(password, another)).status).toBe(204);
      links.add(await linkIn(/Subject: Your password was changed/));
      await enrol('first app of the thief');
      links.add(await linkIn(/Subject: A second factor was added/));
      const thief = await moveAddress(another);
      links.add(await linkIn(/Subject: A new e-mail address/));
      expect(links.size).toBe(1);
      await enrol('second app of the thief');
      expect(await linkIn(/Subject: A second factor was added/, thief)).toBeNull();
      expect((await use([...links][0] ?? null)).status).toBe(204);
      expect(await factorsOf()).toEqual([]);
      expect((await stored()).email).toBe(user.email);
    });

    it('removes new factors if an older factor is left, and otherwise keeps them (R30, R25)', async () => {
      const outcome: string[][] = [];
      for (const isGone of [false, true]) {
        user = await service.loginAs();
        await Authenticator.enrol(service, user.user_id);
        await changeSession(service, user, `amr = '{pwd,otp,mfa}', ended_at = null`);
        await enrol('of the thief');
        const link = await linkIn(/Subject: A second factor was added/);
        if (isGone)
          await service.rows(`delete from second_factors where user_id = $1 and name = 'phone'`, [user.user_id]);
        expect((await use(link)).status).toBe(204);
        outcome.push(await factorsOf());
      }
      expect(outcome).toEqual([['phone'], ['of the thief']]);
    });

    it('voids the recovery codes, which a thief may have renewed (R30)', async () => {
      const { factor_id } = await enrolApp(service, user);
      await service.rows('delete from one_time_tokens where user_id = $1', [user.user_id]);
      expect((await changePassword(password, another)).status).toBe(204);
      const link = await linkIn(/Subject: Your password was changed/);
      const renewed = await service.post('/auth/factor/recovery-codes', user);
      expect(renewed.body.recovery_codes).toHaveLength(10);
      expect((await use(link)).status).toBe(204);
      const { body } = await service.get(`/user/${user.user_id}/factor/list`, { token: admin() });
      expect(body).toMatchObject({ items: [{ factor_id }], recovery_codes_left: 0 });
    });

    it.each<[string, () => Promise<unknown>]>([
      [
        'a new address by an administrator',
        () => service.patch(`/user/${user.user_id}`, { token: admin(), body: { email: `${++count}@example.net` } }),
      ],
      ['disabling', () => service.patch(`/user/${user.user_id}`, { token: admin(), body: { status: 'disabled' } })],
      ['deletion', () => service.delete(`/user/${user.user_id}`, { token: admin() })],
      [
        'a reset by the same mailbox',
        async () => {
          await service.post('/auth/reset_email', { body: { email: user.email } });
          return use(await linkIn(/Subject: Set a new password/));
        },
      ],
    ])('is void after %s (R26)', async (_title, event) => {
      await changePassword(password, another);
      const link = await linkIn(/Subject: Your password was changed/);
      expect(await check(link)).toBe('not_me');
      await event();
      expect(await check(link)).toBe(404);
      expect((await use(link)).status).toBe(404);
    });

    it('stays valid when an API key of the user drops a proposed address (R30, Z31)', async () => {
      user = await service.loginAs({ roles: ['carrier_administrator'] });
      const [role] = await service.rows<{ permissions: string[] }>(
        `select permissions from roles where name = 'carrier_administrator'`,
      );
      const { key, key_id } = await createKey(service, role?.permissions ?? []);
      await service.rows('update keys set created_by = $1 where key_id = $2', [user.user_id, key_id]);
      await changePassword(password, another);
      const link = await linkIn(/Subject: Your password was changed/);
      expect((await propose(`dropped${++count}@example.net`, another)).status).toBe(202);
      const dropped = await service.patch(`/user/${user.user_id}`, { token: key, body: { email: user.email } });
      expect([dropped.status, dropped.body.email_pending]).toEqual([200, null]);
      expect(await check(link)).toBe('not_me');
    });

    it('is in no mail about a change by an administrator (R26)', async () => {
      await enrolApp(service, user);
      await service.rows('delete from one_time_tokens where user_id = $1', [user.user_id]);
      await queueEmpty(service);
      service.mailbox.mails.splice(0);
      await service.patch(`/user/${user.user_id}`, { token: admin(), body: { email: `${++count}@example.net` } });
      expect(await linkIn(/Subject: A new e-mail address/)).toBeNull();
      await service.delete(`/user/${user.user_id}/factor/all`, { token: admin() });
      expect(await linkIn(/Subject: The second factors/)).toBeNull();
    });

    it('changes nothing if another user has taken the address (R26)', async () => {
      await moveAddress(password);
      const link = await linkIn(/Subject: A new e-mail address/);
      await service.createUser({ email: user.email });
      const refused = await use(link);
      expect(refused.body).toMatchObject({ status: 409, code: 'user.email_taken' });
      expect(await loginStatus(password)).toBe(200);
      expect(await check(link)).toBe('not_me');
    });

    it('opens a page that lists the effects of the link, in the language of the user (R26)', async () => {
      await changePassword(password, another);
      const { token } = await service.mailbox.take(user.email, /This was not me/);
      for (const [locale, title, text] of [
        ['en', 'Set your password', 'restores the e-mail address'],
        ['de', 'Passwort festlegen', 'stellt die E-Mail-Adresse wieder her'],
      ]) {
        await service.patch(`/user/${user.user_id}`, { token: admin(), body: { locale } });
        const page = await service.get(`/auth/reset/${token}`, { headers: { accept: 'text/html' } });
        expect(page.text).toContain(`<h1>${title}</h1>`);
        expect(page.text).toContain(text);
      }
    });

    it('is in no mail about a reset, which names the API keys that still work, as does the event (R27)', async () => {
      user = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
      const live = await createKey(service, ['user:read'], { name: 'call https://evil.test/x or www.evil.test' }, user);
      const gone = await createKey(service, ['user:read'], { name: 'gone' }, user);
      await service.delete(`/auth/key/${gone.key_id}`, user);
      await service.post('/auth/reset_email', { body: { email: user.email } });
      expect((await use(await linkIn(/Subject: Set a new password/))).status).toBe(204);
      const { text, html } = partsOf((await service.mailbox.take(user.email, /Your password was changed/)).source);
      const line = `API key that still works: call https···evil·test·x or www·evil·test (${live.key_id})`;
      expect(text.replace(/\s+/g, ' ')).toContain(line);
      expect(text).not.toContain('gone');
      for (const part of [text, html]) expect(part).not.toContain('evil.test');
      const keys = { after: [{ key_id: live.key_id, name: 'call https://evil.test/x or www.evil.test' }] };
      expect(await eventsOf('password.reset', user.user_id)).toMatchObject([{ keys }]);
    });
  });
});
