import type { RememberedActorsService } from '../../src/auth/tokens/remembered-actors.service';
import { changesOf } from '../support/data/events';
import { confirmApp, enrolApp } from '../support/logins/factors';
import { mailedResetToken, queueEmpty } from '../support/data/links';
import { inTransaction, lockWaits } from '../support/locks';
import { Authenticator, firstStep } from '../support/logins/second-factors';
import { codeOf, password, type TestLogin, TestService } from '../support/service';
import { changeSession } from '../support/data/session-rows';
import { decode } from '../support/logins/tokens';

const [past, future] = ['2020-01-01T00:00:00.000Z', '2099-01-01T00:00:00.000Z'];
const codeLine = /^[0-9]{8}\r?$/m;

describe('requirements about second factors', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  describe('at a login', () => {
    const patch = (user_id: string, body: object, by: TestLogin = service.admin) =>
      service.patch(`/user/${user_id}`, { token: by.token, body });
    const require = (user_id: string, from: string | null, by?: TestLogin) =>
      patch(user_id, { second_factor_required_from: from }, by);

    /** Asserts whether a user has no roles and permissions until a second factor is enrolled. */
    async function assertRestricted({ token }: TestLogin, restricted: boolean): Promise<void> {
      const own = await service.get('/user', { token });
      expect([own.status, own.body.must_enroll_second_factor]).toEqual([200, restricted]);
      const checked = await service.post('/auth/check-token', { body: { token } });
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const asked = { token: service.admin.token, headers, body: `token=${token}` };
      expect([own.body.permissions.length > 0, checked.body.permissions.length > 0]).toEqual([
        !restricted,
        !restricted,
      ]);
      expect((await service.post('/auth/introspect', asked)).body.active).toBe(!restricted);
      expect(codeOf(await service.get('/user/list', { token }))).toBe(
        restricted ? '403 auth.second_factor_enrollment_required' : '200',
      );
      expect(codeOf(await service.get('/auth/factor/list', { token }))).toBe('200');
      if (restricted)
        expect(codeOf(await service.post('/auth/reauthenticate', { token, body: { password } }))).toBe('200');
      const wrong = { current_password: 'wrong', new_password: 'seven bridges over a quiet river' };
      expect(codeOf(await service.post('/auth/password', { token, body: wrong }))).toBe(
        '400 auth.wrong_current_password',
      );
    }

    it('restricts a live session with the next request, and spares users with a factor', async () => {
      const user = await service.loginAs({ roles: ['carrier_administrator'] });
      await assertRestricted(user, false);
      expect((await require(user.user_id, future)).body.second_factor_required_from).toBe(future);
      await assertRestricted(user, false);
      await require(user.user_id, past);
      await assertRestricted(user, true);
      const again = await service.login(user.name);
      expect(decode(again.token)['roles']).toEqual([]);
      await require(user.user_id, null);
      await assertRestricted(user, false);
      const enrolled = await service.loginAs({ roles: ['carrier_administrator'] });
      await enrolApp(service, enrolled);
      await require(enrolled.user_id, past);
      await assertRestricted(enrolled, false);
    });

    it('restricts the holders of a role, a built-in one too', async () => {
      const user = await service.loginAs({ roles: ['carrier_administrator'] });
      const role = (from: string | null) => {
        const body = { second_factor_required_from: from };
        return service.patch('/role/carrier_administrator', { ...service.admin, body });
      };
      const changed = await role(past);
      expect([changed.status, changed.body.second_factor_required_from]).toEqual([200, past]);
      await assertRestricted(user, true);
      await role(null);
      await assertRestricted(user, false);
      const [event] = await service.rows(`select changes from events where event_type = 'role.changed'`);
      expect(event?.['changes']).toMatchObject({ second_factor_required_from: { before: null, after: past } });
    });

    it('shows the change of the password first if both are required', async () => {
      const user = await service.loginAs({ must_change_password: true, second_factor_required_from: past });
      for (const path of ['/auth/factor/list', '/user/list'])
        expect(codeOf(await service.get(path, user))).toBe('403 auth.password_change_required');
    });

    it('continues an operation that was accepted before its actor had to enrol', async () => {
      const actor = await service.loginAs({ user_type: 'system', roles: ['operator'] });
      const work = {
        ...({ actor_type: 'user', actor_id: actor.user_id, session_id: actor.session_id } as const),
        ...{ ip: null, request_id: null, permission: 'user:update' as const },
      };
      await require(actor.user_id, past);
      await assertRestricted(actor, true);
      const remembered = await service.inside<RememberedActorsService>('RememberedActorsService').of(work);
      expect(remembered.permissions).toContain('user:update');
    });

    it('rejects a change of the time of the caller, protected users or users outside the scope (M11)', async () => {
      const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
      const manager = await service.loginAs({ roles: ['carrier_administrator'] });
      const plain = await service.loginAs({ roles: ['carrier_user'] });
      const foreign = await service.createUser({ carrier_id: 'c2' });
      expect(codeOf(await require(service.admin.user_id, past))).toBe('403 user.self_protected');
      expect(codeOf(await require(service.admin.user_id, past, operator))).toBe('403 access.protected_user');
      expect(codeOf(await require(foreign.user_id, past, manager))).toBe('404 user.not_found');
      expect(codeOf(await require(plain.user_id, past, plain))).toBe('403 access.denied');
      expect(codeOf(await require(plain.user_id, past, manager))).toBe('200');
      for (const from of ['soon', '2026-02-30T00:00:00Z', 1, '2026-01-01'])
        expect(codeOf(await patch(plain.user_id, { second_factor_required_from: from }))).toBe('400 request.invalid');
    });

    it('requires a factor of many users in bulk, and undoes the requirement', async () => {
      const users = [await service.createUser(), await service.createUser({ second_factor_required_from: past })];
      const ids = users.map(({ user_id }) => user_id).join();
      const body = { second_factor_required_from: '2030-01-01T01:00:00.0009+01:00' };
      const done = await service.patch(`/user/all?user_id_in=${ids}`, { ...service.admin, body });
      expect(done.body).toMatchObject({ changed: 2, unchanged: 0 });
      const stored =
        'select second_factor_required_from as time from users where user_id = any($1) order by 1 nulls first';
      const times = async () => (await service.rows(stored, [ids.split(',')])).map(({ time }) => time);
      expect(await times()).toEqual([new Date('2030-01-01T00:00:00.000Z'), new Date('2030-01-01T00:00:00.000Z')]);
      const undone = await service.post(`/user/operation/${done.body.operation_id}/undo`, service.admin);
      expect(undone.body).toMatchObject({ changed: 2, skipped_count: 0 });
      expect(await times()).toEqual([null, new Date(past)]);
    });
  });

  describe('within a session', () => {
    const again = (token: string, body: object) => service.post('/auth/reauthenticate', { token, body });
    const age = (session: { session_id: string }) =>
      changeSession(service, session, `auth_time = now() - interval '10 minutes'`);
    const secondsAgo = async (token: string) => {
      const { body } = await service.post('/auth/check-token', { body: { token } });
      return (Date.now() - Date.parse(body.session.auth_time as string)) / 1_000;
    };

    it('renews auth_time for older access tokens, too, and issues a token with it (S24)', async () => {
      const { token, session_id, user_id } = await service.loginAs();
      await age({ session_id });
      expect(await secondsAgo(token)).toBeGreaterThan(500);
      const { status, body } = await again(token, { password });
      expect([status, body.token_type, body.expires_in]).toEqual([200, 'Bearer', 600]);
      expect([await secondsAgo(token), await secondsAgo(body.access_token)].filter((age) => age > 60)).toEqual([]);
      expect(decode(body.access_token)).toMatchObject({ sid: session_id, amr: ['pwd'] });
      expect(await changesOf(service, 'login.reauthenticated', user_id)).toHaveLength(1);
    });

    it('accepts codes and recovery codes once, but no password, from a user with a second factor (S24)', async () => {
      const { name, user_id } = await service.createUser();
      const app = await Authenticator.enrol(service, user_id);
      const challenge = await firstStep(service, name);
      const login = (await service.post('/auth/second-factor', { body: { challenge, code: app.code() } })).body;
      const [token, recovery_code] = [login.access_token as string, await app.recoveryCode()];
      await age(login);
      expect((await again(token, { password })).body).toMatchObject({
        code: 'request.invalid',
        errors: [{ pointer: '/password', code: 'field.not_allowed' }],
      });
      expect((await again(token, { code: app.code() })).body.code).toBe('auth.invalid_second_factor');
      expect(await secondsAgo(token)).toBeGreaterThan(500);
      expect((await again(token, { code: app.code(1) })).status).toBe(200);
      expect(await secondsAgo(token)).toBeLessThan(60);
      await age(login);
      expect((await again(token, { recovery_code })).status).toBe(200);
      expect((await again(token, { recovery_code })).body.code).toBe('auth.invalid_second_factor');
      expect(await secondsAgo(token)).toBeLessThan(60);
    });

    it('accepts no password from a user who enrols a second factor meanwhile (S24)', async () => {
      const { token, user_id, session_id } = await service.loginAs();
      await age({ session_id });
      const answer = await inTransaction(service, async (other) => {
        await other.query(`update users set second_factors = '{totp}' where user_id = $1`, [user_id]);
        const sent = again(token, { password });
        await lockWaits(service);
        await other.query('commit');
        return sent;
      });
      const errors = [{ pointer: '/password', code: 'field.not_allowed' }];
      expect(answer.body).toMatchObject({ code: 'request.invalid', errors });
      expect(await secondsAgo(token)).toBeGreaterThan(500);
    });

    it('requires exactly one proof, and a session that is live', async () => {
      const { token } = await service.loginAs();
      for (const body of [
        {},
        { password, code: '123456' },
        { challenge: 'x', password },
        { challenge: 'x' },
        { passkey: {} },
      ])
        expect((await again(token, body)).body.code).toBe('request.invalid');
      await service.post('/auth/logout', { token });
      expect((await again(token, { password })).body.code).toBe('auth.token_invalid');
    });
  });

  describe('of a mailed code for the first factor', () => {
    const enrol = ({ token }: { token: string }, body: object = {}) =>
      service.post('/auth/factor/totp', { token, body });

    /** Returns the newest mailed code of a user. */
    async function mailedCode(email: string): Promise<string> {
      await queueEmpty(service);
      const codes = service.mailbox.mails
        .filter(({ to }) => to.includes(email))
        .flatMap(({ source }) => codeLine.exec(source)?.[0].trim() ?? []);
      return codes.at(-1) ?? '';
    }
    const wrongCode = (right: string) => (right === '00000000' ? '00000001' : '00000000');
    const endPause = (user_id: string) =>
      service.rows(
        `update enrollment_codes set requested_at = requested_at - interval '5 minutes' where user_id = $1`,
        [user_id],
      );
    const reset = (user_id: string) => service.delete(`/user/${user_id}/factor/all`, service.admin);

    it('rejects a device or passkey of a user who must enrol, from a caller without the code (M10)', async () => {
      const thief = await service.loginAs({ second_factor_required_from: past });
      const right = await mailedCode(thief.email);
      expect(right).toMatch(/^[0-9]{8}$/);
      for (const body of [{}, { mail_code: wrongCode(right) }, { mail_code: 'x' }, { mail_code: `${right}0` }])
        expect(codeOf(await enrol(thief, body))).toBe('403 auth.mail_code_required');
      const options = (body: object) => service.post('/auth/factor/passkey/options', { token: thief.token, body });
      expect(codeOf(await options({ mail_code: wrongCode(right) }))).toBe('403 auth.mail_code_required');
      expect(codeOf(await options({ mail_code: right }))).toBe('200');
      // Control: the owner of the mailbox can enrol, with spaces as people type them.
      const added = await enrol(thief, { mail_code: `${right.slice(0, 4)} ${right.slice(4)}` });
      expect(codeOf(added)).toBe('201');
      expect(codeOf(await confirmApp(service, thief, added.body))).toBe('200');
      expect(await service.rows('select 1 from enrollment_codes where user_id = $1', [thief.user_id])).toEqual([]);
      expect((await service.get('/user', thief)).body).toMatchObject({
        must_enroll_second_factor: false,
        second_factors: ['totp'],
      });
      // Further factors need no code.
      expect(codeOf(await enrol(thief))).toBe('201');
    });

    it('requires and mails no code while no factor is required', async () => {
      const later = await service.loginAs({ second_factor_required_from: future });
      expect(codeOf(await enrol(later))).toBe('201');
      const user = await service.loginAs({ second_factor_required_from: past });
      const first = await mailedCode(user.email);
      expect([first, await mailedCode(later.email)]).toEqual([expect.stringMatching(/^[0-9]{8}$/), '']);
      await service.rows('update users set second_factor_required_from = null where user_id = $1', [user.user_id]);
      await endPause(user.user_id);
      const again = await service.login(user.name);
      expect(await mailedCode(user.email)).toBe(first);
      expect(codeOf(await enrol(again))).toBe('201');
    });

    it('requires a code after a reset, at each login, until the user enrols a factor (M10)', async () => {
      const user = await service.loginAs();
      await enrolApp(service, user);
      const body = { reset_second_factors: true };
      const done = await service.patch(`/user/all?user_id_in=${user.user_id}`, { ...service.admin, body });
      expect(done.body).toMatchObject({ changed: 1 });
      await service.login(user.name);
      await endPause(user.user_id);
      const again = await service.login(user.name);
      expect(codeOf(await enrol(again))).toBe('403 auth.mail_code_required');
      const added = await enrol(again, { mail_code: await mailedCode(user.email) });
      expect(codeOf(await confirmApp(service, again, added.body))).toBe('200');
      // Removed by the user: no reset.
      expect((await service.delete(`/auth/factor/${added.body.factor_id}`, again)).status).toBe(204);
      const last = await mailedCode(user.email);
      expect(codeOf(await enrol(await service.login(user.name)))).toBe('201');
      expect(await mailedCode(user.email)).toBe(last);
    });

    it('accepts no code of another user, and none after 15 minutes', async () => {
      const [one, two] = [
        await service.loginAs({ second_factor_required_from: past }),
        await service.loginAs({ second_factor_required_from: past }),
      ];
      const mail_code = await mailedCode(one.email);
      expect(codeOf(await enrol(two, { mail_code }))).toBe('403 auth.mail_code_required');
      const age = (seconds: number) =>
        service.rows(`update enrollment_codes set expires_at = expires_at - $2 * interval '1 s' where user_id = $1`, [
          one.user_id,
          seconds,
        ]);
      await age(840);
      expect(codeOf(await enrol(one, { mail_code }))).toBe('201');
      await age(60);
      expect(codeOf(await enrol(one, { mail_code }))).toBe('403 auth.mail_code_required');
    });

    it('rejects a device and a new address without the code after a reset of the factors (M10)', async () => {
      const user = await service.loginAs();
      const propose = ({ token }: { token: string }, email: string) =>
        service.post('/auth/email', { token, body: { email, current_password: password } });
      await enrolApp(service, user);
      expect(codeOf(await propose(user, 'first@example.net'))).toBe('202');
      expect(codeOf(await reset(user.user_id))).toBe('204');
      const thief = await service.login(user.name);
      expect(codeOf(await enrol(thief))).toBe('403 auth.mail_code_required');
      expect(codeOf(await propose(thief, 'thief@example.net'))).toBe('403 auth.mail_code_required');
    });

    it('compares at most 5 wrong codes, also at the same time, until the next mail (M10)', async () => {
      const user = await service.loginAs({ second_factor_required_from: past });
      const right = await mailedCode(user.email);
      const guesses = await Promise.all(Array.from({ length: 20 }, () => enrol(user, { mail_code: wrongCode(right) })));
      expect(new Set(guesses.map(codeOf))).toEqual(new Set(['403 auth.mail_code_required']));
      const [row] = await service.rows<{ wrong_codes: number }>(
        'select wrong_codes from enrollment_codes where user_id = $1',
        [user.user_id],
      );
      expect(row?.wrong_codes).toBe(5);
      expect(codeOf(await enrol(user, { mail_code: right }))).toBe('403 auth.mail_code_required');
      await endPause(user.user_id);
      const again = await service.login(user.name);
      const next = await mailedCode(user.email);
      expect(next).not.toBe(right);
      expect(codeOf(await enrol(again, { mail_code: right }))).toBe('403 auth.mail_code_required');
      expect(codeOf(await enrol(again, { mail_code: next }))).toBe('201');
    });

    it('mails one code in 5 minutes and 10 a day, so that a stranger cannot flood the inbox (E13)', async () => {
      await service.rows('delete from rate_limits');
      const user = await service.loginAs({ second_factor_required_from: past });
      const mailsAfterLogin = async () => {
        await service.login(user.name);
        await queueEmpty(service);
        return service.mailbox.mails.filter(({ to, source }) => to.includes(user.email) && codeLine.test(source))
          .length;
      };
      const later = async () => {
        await endPause(user.user_id);
        return mailsAfterLogin();
      };
      expect([await mailsAfterLogin(), await mailsAfterLogin(), await later()]).toEqual([1, 1, 2]);
      await service.rows('update rate_limits set hits = hits + 7');
      expect([await later(), await later()]).toEqual([3, 3]);
      await service.rows('update rate_limits set ends_at = now()');
      expect(await later()).toBe(4);
    });

    it('lets the user enrol after a reset although a stranger used up the mailed code (M10)', async () => {
      const user = await service.createUser({ second_factor_required_from: past });
      const stranger = await service.login(user.name);
      const right = await mailedCode(user.email);
      for (let guesses = 0; guesses < 5; guesses++) await enrol(stranger, { mail_code: wrongCode(right) });
      const here = await service.login(user.name);
      expect(codeOf(await enrol(here, { mail_code: right }))).toBe('403 auth.mail_code_required');
      const token = await mailedResetToken(service, user.email);
      expect((await service.post(`/auth/reset/${token}`, { body: { password: `${password} 2` } })).status).toBe(204);
      expect(codeOf(await enrol(stranger))).toBe('401 auth.token_invalid');
      expect(codeOf(await enrol(await service.login(user.name, `${password} 2`)))).toBe('201');
    });

    it('stores a keyed hash, so that eight digits of a dump cannot be guessed', async () => {
      const user = await service.loginAs({ second_factor_required_from: past });
      const code = await mailedCode(user.email);
      const [row] = await service.rows<{ known: boolean; bytes: number }>(
        `select
         code_hash in (sha256($2::text::bytea), sha256((user_id || ':' || $2)::bytea), $2::text::bytea) as known,
         octet_length(code_hash) as bytes
       from enrollment_codes
       where user_id = $1`,
        [user.user_id, code],
      );
      expect(row).toEqual({ known: false, bytes: 32 });
    });

    describe('after a mailed link', () => {
      it.each([
        ['a reset', {}],
        ['an invitation', { password: undefined, must_change_password: undefined }],
      ])('requires no code for an hour after %s', async (_title, fields) => {
        const created = await service.createUser({ second_factor_required_from: past, ...fields });
        const isInvited = 'password' in fields;
        const token = isInvited
          ? (await service.mailbox.take(created.email, /\/auth\/reset\//)).token
          : await mailedResetToken(service, created.email);
        expect((await service.post(`/auth/reset/${token}`, { body: { password: `${password} 2` } })).status).toBe(204);
        const user = await service.login(created.name, `${password} 2`);
        expect(await mailedCode(created.email)).toBe('');
        expect(codeOf(await enrol(user))).toBe('201');
        await service.rows(`update one_time_tokens set used_at = used_at - interval '61 minutes' where user_id = $1`, [
          created.user_id,
        ]);
        expect(codeOf(await enrol(user))).toBe('403 auth.mail_code_required');
        await service.login(created.name, `${password} 2`);
        expect(codeOf(await enrol(user, { mail_code: await mailedCode(created.email) }))).toBe('201');
      });

      it('requires a code after a link that confirms an address (M10)', async () => {
        const user = await service.loginAs({ second_factor_required_from: past });
        await service.rows(
          `insert into one_time_tokens (user_id, purpose, requested_at, used_at) values ($1, 'email', now(), now())`,
          [user.user_id],
        );
        expect(codeOf(await enrol(user))).toBe('403 auth.mail_code_required');
      });
    });
  });
});
