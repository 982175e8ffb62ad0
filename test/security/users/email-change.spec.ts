import { endMailLimits, mailedResetToken, queueEmpty, visibleResponse } from '../../support/links';
import { until } from '../../support/until';
import { password, type TestLogin, TestService } from '../../support/service';

describe('a change of the e-mail address', () => {
  let service: TestService;
  let user: TestLogin & { name: string; email: string };
  let next: string;
  let count = 0;

  beforeAll(async () => {
    service = await TestService.start();
  });
  beforeEach(async () => {
    user = await service.loginAs({ roles: ['carrier_user'] });
    next = `next${++count}@example.org`;
  });
  afterAll(() => service.close());

  const propose = (email: string, by: TestLogin = user) =>
    service.post('/auth/email', { token: by.token, body: { email, current_password: password } });
  const patch = (email: string, user_id = user.user_id) =>
    service.patch(`/user/${user_id}`, { token: service.admin.token, body: { email } });
  const confirm = (token: string | null) => service.post(`/auth/email/${token}`);
  const stored = async (user_id = user.user_id) =>
    (await service.get(`/user/${user_id}`, { token: service.admin.token })).body;
  const loginStatus = async (login: string) =>
    (await service.post('/auth/login', { body: { login, password } })).status;
  const confirmationTo = async (email: string) => (await service.mailbox.take(email, /\/auth\/email\//)).token ?? '';
  const mailsTo = (email: string) => service.mailbox.mails.filter(({ to }) => to.includes(email));

  /** The response to every invalid link. */
  async function expectInvalid(token: string): Promise<void> {
    const never = visibleResponse(await confirm('A'.repeat(43)));
    expect(never).toMatchObject({ status: 404, text: expect.stringContaining('"email.token_invalid"') });
    expect(visibleResponse(await confirm(token))).toEqual(never);
    expect(visibleResponse(await service.get(`/auth/email/${token}`))).toEqual(never);
  }

  it.each([
    ['by an administrator', () => patch(next)],
    ['by the user', () => propose(next)],
  ])('gives an unconfirmed address no effect, %s (E1)', async (_name, change) => {
    const { email_verified_at } = await stored();
    expect((await change()).status).toBeLessThan(300);
    expect(await stored()).toMatchObject({ email: user.email, email_pending: next, email_verified_at });
    expect([await loginStatus(user.email), await loginStatus(next)]).toEqual([200, 401]);
    await service.post('/auth/reset_email', { body: { email: next } });
    await service.post('/auth/reset_email', { body: { email: user.email } });
    expect((await service.mailbox.take(user.email, /\/auth\/reset\//)).to).toEqual([user.email]);
    const token = await confirmationTo(next);
    await queueEmpty(service);
    expect(mailsTo(next)).toEqual([]);
    expect((await confirm(token)).status).toBe(204);
    expect(await stored()).toMatchObject({ email: next, email_pending: null, email_verified_at: expect.any(String) });
    expect([await loginStatus(user.email), await loginStatus(next)]).toEqual([401, 200]);
  });

  it('notifies the old address (E3)', async () => {
    await propose(next);
    const notice = await service.mailbox.take(user.email, /Subject: A new e-mail address was proposed/);
    const token = await confirmationTo(next);
    expect(notice.to).toEqual([user.email]);
    expect(notice.source).not.toContain(token);
    expect(notice.source).not.toContain(next);
    expect(notice.source).not.toMatch(/\/auth\/email/);
  });

  describe('a link for another address than the current one', () => {
    it('confirms only its own address when two changes run at once, 10 times (E4)', async () => {
      for (let round = 0; round < 10; round++) {
        await endMailLimits(service);
        const [attacker, victim] = [`attacker${round}@example.org`, `victim${round}@example.org`];
        const answers = await Promise.all([patch(attacker), patch(victim)]);
        expect(answers.map(({ status }) => status)).toEqual([200, 200]);
        const { email_pending } = await stored();
        await queueEmpty(service);
        const tokens = mailsTo(attacker).map(({ token }) => token);
        for (const token of tokens) await confirm(token);
        expect((await stored()).email).toBe(email_pending === attacker ? attacker : user.email);
        if (email_pending === attacker) user = { ...user, email: attacker };
        service.mailbox.mails.splice(0);
      }
    });

    it('confirms only its own address when it changes while the link is used, 10 times (E4)', async () => {
      for (let round = 0; round < 10; round++) {
        await endMailLimits(service);
        const [attacker, victim] = [`first${round}@example.org`, `second${round}@example.org`];
        await patch(attacker);
        const token = await confirmationTo(attacker);
        const [{ status }] = await Promise.all([confirm(token), patch(victim)]);
        expect([204, 404]).toContain(status);
        const after = await stored();
        if (status === 204) user = { ...user, email: attacker };
        expect(after).toMatchObject({ email: user.email, email_pending: victim });
        await expectInvalid(token);
      }
    });

    it('confirms only its own address when it changes before the token is minted (E4)', async () => {
      await propose(next);
      await confirmationTo(next);
      expect(
        await tokenMailedDuring('email-confirmation', next, 'email_pending = $2', 'victim@example.org'),
      ).toBeNull();
      expect(await stored()).toMatchObject({ email: user.email, email_pending: 'victim@example.org' });
    });
  });

  describe('misuse of a confirmation', () => {
    it('confirms once, also for 30 parallel requests (E5)', async () => {
      await propose(next);
      const token = await confirmationTo(next);
      const answers = await Promise.all(Array.from({ length: 30 }, () => confirm(token)));
      expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array<number>(29).fill(404)]);
      await expectInvalid(token);
      const events = await service.get(`/audit/list?target_id=${user.user_id}&event_type=user.email_confirmed`, {
        token: service.admin.token,
      });
      expect(events.body.items).toHaveLength(1);
    });

    it('rejects a confirmation after 24 hours (E5)', async () => {
      await propose(next);
      const token = await confirmationTo(next);
      const expire = (seconds: number) =>
        service.rows(`update one_time_tokens set expires_at = now() + $1 * interval '1 second' where user_id = $2`, [
          seconds,
          user.user_id,
        ]);
      const expires_at = new Date((await service.get(`/auth/email/${token}`)).body.expires_at).getTime();
      expect(Math.abs(expires_at - Date.now() - 86_400_000)).toBeLessThan(60_000);
      await expire(-1);
      await expectInvalid(token);
      expect((await stored()).email).toBe(user.email);
      await expire(5);
      expect((await confirm(token)).status).toBe(204);
    });

    it('rejects a request that names another user or address, and confirms only its own (E5)', async () => {
      const other = await service.createUser();
      await propose(next);
      const token = await confirmationTo(next);
      for (const body of [{ user_id: other.user_id }, { email: 'other@example.org' }])
        expect((await service.post(`/auth/email/${token}`, { body })).status).toBe(400);
      expect((await service.post(`/auth/email/${token}?user_id=${other.user_id}`)).status).toBe(400);
      expect((await confirm(token)).status).toBe(204);
      expect((await stored(other.user_id)).email).toBe(other.email);
    });

    it.each<[string, () => Promise<unknown>]>([
      ['a newer proposal', () => propose(`newer-${next}`)],
      ['a return to the address in force', () => propose(user.email)],
      [
        'disabling',
        () => service.patch(`/user/${user.user_id}`, { token: service.admin.token, body: { status: 'disabled' } }),
      ],
      ['deletion', () => service.delete(`/user/${user.user_id}`, { token: service.admin.token })],
    ])('rejects a confirmation after %s (E5)', async (_name, event) => {
      await propose(next);
      const token = await confirmationTo(next);
      expect((await service.get(`/auth/email/${token}`)).status).toBe(200);
      await event();
      await expectInvalid(token);
    });

    it('keeps reset and invitation links valid after a change that repeats the address (E5)', async () => {
      const token = await mailedResetToken(service, user.email);
      await service.patch(`/user/${user.user_id}`, {
        token: service.admin.token,
        body: { email: user.email, first_name: 'Ada' },
      });
      expect((await service.get(`/auth/reset/${token}`)).status).toBe(200);
      const invited = await service.createUser({ password: undefined, must_change_password: undefined });
      const invitation = (await service.mailbox.take(invited.email)).token;
      await service.patch(`/user/${invited.user_id}`, {
        token: service.admin.token,
        body: { email: invited.email, first_name: 'Ada' },
      });
      expect((await service.get(`/auth/reset/${invitation}`)).status).toBe(200);
    });

    it('sends a new link for a repeated proposal, and accepts only the newest (E5)', async () => {
      await propose(next);
      const first = await confirmationTo(next);
      await propose(next);
      const second = await confirmationTo(next);
      await expectInvalid(first);
      expect((await confirm(second)).status).toBe(204);
    });
  });

  describe('an address that passes to another user', () => {
    it('transfers no link and no session of the deleted user to the new one (E8)', async () => {
      const reset = await mailedResetToken(service, user.email);
      await service.delete(`/user/${user.user_id}`, { token: service.admin.token });
      const heir = await service.createUser({ email: user.email, name: user.name });
      expect(
        (await service.post(`/auth/reset/${reset}`, { body: { password: 'an entirely new phrase' } })).status,
      ).toBe(404);
      expect((await service.get('/user', { token: user.token })).status).toBe(401);
      expect((await service.post('/auth/check-token', { body: { refresh_token: user.refresh_token } })).status).toBe(
        401,
      );
      expect((await service.post(`/user/${user.user_id}/restore`, { token: service.admin.token })).body.code).toMatch(
        /user\.(name|email)_taken/,
      );
      expect((await service.login(user.email)).user_id).toBe(heir.user_id);
    });

    it('sends no link to the old address for a request from before the change (E8)', async () => {
      const token = await tokenMailedDuring('reset', user.email, 'email = $2', next);
      expect((await service.get(`/auth/reset/${token ?? 'A'.repeat(43)}`)).status).toBe(404);
      expect(
        (await service.post(`/auth/reset/${token}`, { body: { password: 'an entirely new phrase' } })).status,
      ).toBe(404);
    });
  });

  it('reveals no address of another user by a change to it (E11, L3)', async () => {
    const taken = await service.createUser({ carrier_id: 'c2' });
    const administrator = await service.loginAs({ roles: ['carrier_administrator'] });
    const toFree = visibleResponse(await propose(next));
    expect(visibleResponse(await propose(taken.email))).toEqual(toFree);
    const proposeAsAdministrator = async (email: string) => {
      const colleague = await service.createUser();
      const { status, headers, body } = await service.patch(`/user/${colleague.user_id}`, {
        token: administrator.token,
        body: { email },
      });
      return {
        status,
        headers: Object.keys(headers),
        etag: headers['etag'],
        fields: Object.keys(body),
        pending: body.email_pending,
      };
    };
    const free = await proposeAsAdministrator(`free-${next}`);
    expect(await proposeAsAdministrator(taken.email)).toEqual({ ...free, pending: taken.email });
    const token = await confirmationTo(taken.email);
    const refused = await confirm(token);
    expect(refused.body).toMatchObject({ status: 409, code: 'user.email_taken' });
    expect(refused.text).not.toMatch(new RegExp(`${taken.user_id}|${taken.name}|"c2"`));
    expect((await stored(taken.user_id)).email).toBe(taken.email);
  });

  /**
   * Changes the user while a mail job waits for the row, between reading the user and minting the
   * token. Returns the token that was still mailed to the address, or null.
   */
  async function tokenMailedDuring(
    mail: 'reset' | 'email-confirmation',
    to: string,
    change: string,
    value: string,
  ): Promise<string | null> {
    const other = await service.sql.connect();
    try {
      await other.query('begin');
      await other.query('select 1 from users where user_id = $1 for no key update', [user.user_id]);
      await service.rows(
        `select graphile_worker.add_job('send-mail', json_build_object('user_id', $1::text, 'mail', $2::text))`,
        [user.user_id, mail],
      );
      const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await until(async () => (await service.rows(waiting)).length > 0);
      await other.query(`update users set ${change} where user_id = $1`, [user.user_id, value]);
      await other.query('commit');
    } finally {
      other.release();
    }
    await queueEmpty(service);
    return mailsTo(to)[0]?.token ?? null;
  }
});
