import { enrolApp } from '../support/logins/factors';
import { endMailLimits, mailedResetToken, queueEmpty, visibleResponse } from '../support/data/links';
import { inTransaction, lockWaits } from '../support/locks';
import { password, type TestLogin, TestService } from '../support/service';

const past = '2020-01-01T00:00:00Z';

describe('e-mail addresses of users', () => {
  let service: TestService;
  let admin: TestLogin;
  let role: string;
  let user: TestLogin & { name: string; email: string };
  /** an address without a user */
  let next: string;
  let count = 0;

  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
  });
  beforeEach(async () => {
    await endMailLimits(service);
    role = `role${++count}`;
    next = `next${count}@example.org`;
    const body = { name: role, user_types: ['carrier'], permissions: ['session:read'] };
    expect((await service.post('/role/create', { ...admin, body })).status).toBe(201);
    user = await service.loginAs({ roles: [role] });
  });
  afterAll(() => service.close());

  const propose = (email: string, by: TestLogin = user) =>
    service.post('/auth/email', { token: by.token, body: { email, current_password: password } });
  const patch = (body: object, user_id = user.user_id) =>
    service.patch(`/user/${user_id}`, { token: admin.token, body });
  const patchAll = (body: object) => service.patch(`/user/all?user_id=${user.user_id}`, { token: admin.token, body });
  const patchRole = (body: object) => service.patch(`/role/${role}`, { token: admin.token, body });
  const confirm = (token: string) => service.post(`/auth/email/${token}`);
  const stored = async (user_id = user.user_id) => (await service.get(`/user/${user_id}`, admin)).body;
  const loginStatus = async (login: string) =>
    (await service.post('/auth/login', { body: { login, password } })).status;
  const confirmationTo = async (email: string) => (await service.mailbox.take(email, /\/auth\/email\//)).token ?? '';
  const proposed = async (email = next) => {
    expect((await propose(email)).status).toBe(202);
    return confirmationTo(email);
  };
  const mailsTo = (email: string) => service.mailbox.mails.filter(({ to }) => to.includes(email));
  const invite = (email: unknown) => {
    const body = { user_type: 'carrier', carrier_id: 'c1', name: `invited${++count}`, email };
    return service.post('/user/create', { token: admin.token, body });
  };
  const emptyMailbox = async () => {
    await queueEmpty(service);
    service.mailbox.mails.splice(0);
  };

  /** The response to every invalid link. */
  async function expectInvalid(token: string): Promise<void> {
    const never = visibleResponse(await confirm('A'.repeat(43)));
    expect(never).toMatchObject({ status: 404, text: expect.stringContaining('"email.token_invalid"') });
    expect(visibleResponse(await confirm(token))).toEqual(never);
    expect(visibleResponse(await service.get(`/auth/email/${token}`))).toEqual(never);
  }

  /**
   * Changes the user while a mail job waits for the row, between reading the user and minting the
   * token. Returns the token that was still mailed to the address, or null.
   */
  async function tokenMailedDuring(mail: string, to: string, change: string, value: string): Promise<string | null> {
    await inTransaction(service, async (other) => {
      await other.query('select 1 from users where user_id = $1 for no key update', [user.user_id]);
      await service.rows(
        `select graphile_worker.add_job('send-mail', json_build_object('user_id', $1::text, 'mail', $2::text))`,
        [user.user_id, mail],
      );
      await lockWaits(service);
      await other.query(`update users set ${change} where user_id = $1`, [user.user_id, value]);
      await other.query('commit');
    });
    await queueEmpty(service);
    return mailsTo(to)[0]?.token ?? null;
  }

  describe('a proposed address', () => {
    it.each([
      ['by an administrator', () => patch({ email: next })],
      ['by the user', () => propose(next)],
    ])('has no effect before it is confirmed, %s (E1)', async (_name, change) => {
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

    it('is announced to the old address, without the new address or a link (E3)', async () => {
      const token = await proposed();
      const notice = await service.mailbox.take(user.email, /Subject: A new e-mail address was proposed/);
      expect(notice.to).toEqual([user.email]);
      for (const secret of [token, next, '/auth/email']) expect(notice.source).not.toContain(secret);
    });

    it('can be canceled by the user, which voids its link, waiting or mailed (E5)', async () => {
      const cancel = () => service.delete('/auth/email', { token: user.token });
      const token = await proposed();
      expect((await cancel()).status).toBe(204);
      await expectInvalid(token);
      expect(await stored()).toMatchObject({ email: user.email, email_pending: null });
      const { items } = (await service.get(`/audit/list?target_id=${user.user_id}&per_page=1`, admin)).body;
      const email_pending = { before: next, after: null };
      expect(items).toMatchObject([{ event_type: 'user.changed', actor_id: user.user_id, changes: { email_pending } }]);
      const { version } = await stored();
      expect((await cancel()).status).toBe(204);
      expect((await stored()).version).toBe(version);
      await propose(`other-${next}`);
      await cancel();
      await queueEmpty(service);
      const late = mailsTo(`other-${next}`)[0]?.token;
      if (late !== undefined) await expectInvalid(late ?? '');
    });

    it('reveals no address of another user (E11, L3)', async () => {
      const taken = await service.createUser({ carrier_id: 'c2' });
      const administrator = await service.loginAs({ roles: ['carrier_administrator'] });
      const toFree = visibleResponse(await propose(next));
      expect(visibleResponse(await propose(taken.email))).toEqual(toFree);
      const proposeAsAdministrator = async (email: string) => {
        const colleague = await service.createUser();
        const request = { token: administrator.token, body: { email } };
        const { status, headers, body } = await service.patch(`/user/${colleague.user_id}`, request);
        const shown = { status, headers: Object.keys(headers), etag: headers['etag'], fields: Object.keys(body) };
        return { ...shown, pending: body.email_pending };
      };
      const free = await proposeAsAdministrator(`free-${next}`);
      expect(await proposeAsAdministrator(taken.email)).toEqual({ ...free, pending: taken.email });
      const refused = await confirm(await confirmationTo(taken.email));
      expect(refused.body).toMatchObject({ status: 409, code: 'user.email_taken' });
      expect(refused.text).not.toMatch(new RegExp(`${taken.user_id}|${taken.name}|"c2"`));
      expect((await stored(taken.user_id)).email).toBe(taken.email);
    });

    it('can be proposed 5 times in an hour by the user, and 5 times by all others together (E14, R30)', async () => {
      const other = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
      const proposeAs = ({ token }: TestLogin, email: string) =>
        service.patch(`/user/${user.user_id}`, { token, body: { email } });
      for (let n = 0; n < 5; n++) expect((await propose(`own${n}${next}`)).status).toBe(202);
      for (let n = 0; n < 5; n++)
        expect((await proposeAs(n % 2 === 0 ? admin : other, `${n}${next}`)).status).toBe(200);
      for (const refused of [await propose(next), await proposeAs(other, next), await patch({ email: next })]) {
        expect(refused.body).toMatchObject({ status: 429, code: 'request.rate_limited' });
        expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3_000);
        expect(refused.headers).toMatchObject({
          'ratelimit-policy': '"proposals";q=5;w=3600',
          ratelimit: `"proposals";r=0;t=${String(refused.headers['retry-after'])}`,
        });
      }
      expect((await stored()).email_pending).toBe(`4${next}`);
      // Other fields, and the current address, are no proposals. Other users have their own limit.
      expect((await patch({ email: user.email, first_name: 'Ada' })).body.email_pending).toBeNull();
      expect((await patch({ email: next }, (await service.createUser()).user_id)).status).toBe(200);
    });
  });

  describe('a confirmation', () => {
    it('confirms only its own address when the address changes while the link is used (E4)', async () => {
      for (let round = 0; round < 3; round++) {
        await endMailLimits(service);
        const [attacker, victim] = [`attacker${round}.${next}`, `victim${round}.${next}`];
        const token = await proposed(attacker);
        const [{ status }] = await Promise.all([confirm(token), patch({ email: victim })]);
        expect([204, 404]).toContain(status);
        await expectInvalid(token);
        if (status === 204) user = { ...user, email: attacker };
        await queueEmpty(service);
        expect(await stored()).toMatchObject({ email: user.email, email_pending: victim });
      }
    });

    it('confirms only its own address when it changes before the token is minted (E4)', async () => {
      await proposed();
      const token = await tokenMailedDuring('email-confirmation', next, 'email_pending = $2', `victim.${next}`);
      expect(token).toBeNull();
      expect(await stored()).toMatchObject({ email: user.email, email_pending: `victim.${next}` });
    });

    it('takes effect once, also for 10 parallel requests (E5)', async () => {
      const token = await proposed();
      const answers = await Promise.all(Array.from({ length: 10 }, () => confirm(token)));
      expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array<number>(9).fill(404)]);
      await expectInvalid(token);
      const confirmed = `select 1 from events where target_id = $1 and event_type = 'user.email_confirmed'`;
      expect(await service.rows(confirmed, [user.user_id])).toHaveLength(1);
    });

    it('is rejected after 24 hours (E5)', async () => {
      const token = await proposed();
      const hours = 'select distinct round(extract(epoch from expires_at - requested_at) / 3600)::integer as hours';
      const lifetime = await service.rows(`${hours} from one_time_tokens where user_id = $1`, [user.user_id]);
      expect(lifetime).toEqual([{ hours: 24 }]);
      const expire = (at: string) =>
        service.rows(`update one_time_tokens set expires_at = now() + $1::interval where user_id = $2`, [
          ...[at, user.user_id],
        ]);
      await expire('-1 second');
      await expectInvalid(token);
      expect((await stored()).email).toBe(user.email);
      await expire('1 hour');
      expect((await confirm(token)).status).toBe(204);
    });

    it('rejects a request that names another user or address, and confirms only its own (E5)', async () => {
      const token = await proposed();
      for (const body of [{ user_id: admin.user_id }, { email: 'other@example.org' }])
        expect((await service.post(`/auth/email/${token}`, { body })).status).toBe(400);
      expect((await service.post(`/auth/email/${token}?user_id=${admin.user_id}`)).status).toBe(400);
      expect((await confirm(token)).status).toBe(204);
      expect((await stored()).email).toBe(next);
    });

    it.each<[string, () => Promise<unknown>]>([
      ['a newer proposal', () => propose(`newer-${next}`)],
      ['a newer proposal of the same address', () => propose(next)],
      ['a return to the address in force', () => propose(user.email)],
      ['disabling', () => patch({ status: 'disabled' })],
      ['deletion', () => service.delete(`/user/${user.user_id}`, admin)],
    ])('is rejected after %s (E5)', async (_name, event) => {
      const token = await proposed();
      expect((await service.get(`/auth/email/${token}`)).status).toBe(200);
      await event();
      await expectInvalid(token);
    });

    it('leaves reset and invitation links valid if a change repeats the address (E5)', async () => {
      const token = await mailedResetToken(service, user.email);
      await patch({ email: user.email, first_name: 'Ada' });
      const invited = await service.inviteUser();
      const invitation = (await service.mailbox.take(invited.email)).token;
      await patch({ email: invited.email, first_name: 'Ada' }, invited.user_id);
      for (const link of [token, invitation]) expect((await service.get(`/auth/reset/${link}`)).status).toBe(200);
    });
  });

  describe('a pending address', () => {
    type Case = [title: string, event: (removeApp: () => Promise<unknown>) => Promise<unknown>, hasApp?: boolean];
    it.each<Case>([
      ['a reset of the factors', () => service.delete(`/user/${user.user_id}/factor/all`, admin), true],
      ['a reset of the factors in bulk', () => patchAll({ reset_second_factors: true }), true],
      ['the removal of a factor', (removeApp) => removeApp(), true],
      ['an enrolled factor', () => enrolApp(service, user)],
      ['a required factor', () => patch({ second_factor_required_from: past })],
      ['a required factor in bulk', () => patchAll({ second_factor_required_from: past })],
      ['must_change_password', () => patch({ must_change_password: true })],
      ['other roles', () => patch({ roles: ['carrier_user'] })],
      ['disabling and enabling', () => patch({ status: 'disabled' }).then(() => patch({ status: 'active' }))],
    ])('is dropped by %s, and its link is void (E30)', async (_title, event, hasApp = false) => {
      const app = hasApp ? await enrolApp(service, user) : null;
      const removeApp = () => service.delete(`/auth/factor/${app?.factor_id}`, user);
      const link = await proposed();
      expect((await stored()).email_pending).toBe(next);
      await event(removeApp);
      expect((await stored()).email_pending).toBeNull();
      await expectInvalid(link);
      expect((await stored()).email).toBe(user.email);
    });

    it.each([
      ['was extended', { permissions: ['session:read', 'user:read'] }],
      ['requires a factor', { second_factor_required_from: past }],
      ['may grant another', { may_grant: ['carrier_user'] }],
    ])('cannot be confirmed after a role of the user %s (E30)', async (_title, change) => {
      const link = await proposed();
      expect((await patchRole(change)).status).toBe(200);
      await expectInvalid(link);
      expect((await stored()).email).toBe(user.email);
      await patchRole({ second_factor_required_from: null });
      // Proposed again with the current rights.
      expect((await confirm(await proposed())).status).toBe(204);
      expect((await stored()).email).toBe(next);
    });

    it('is bound to the rights at the time of the proposal, even if the link is mailed later (E30)', async () => {
      // The address has received all mails of an hour, so the mail to the user is delayed.
      for (let others = 0; others < 3; others++) {
        await patch({ email: next }, (await service.createUser()).user_id);
        await confirmationTo(next);
      }
      expect((await patch({ email: next })).status).toBe(200);
      expect((await patchRole({ permissions: ['user:read'] })).status).toBe(200);
      await service.rows(`delete from rate_limits`);
      await service.rows('update graphile_worker._private_jobs set run_at = now() where run_at > now()');
      expect((await confirm(await confirmationTo(next))).body.code).toBe('email.token_invalid');
    });

    it('is kept by changes that give no right, and by a change of other roles', async () => {
      const link = await proposed();
      await patch({ first_name: 'Ada', attributes: { tier: 'gold' } });
      const body = { name: `other${count}`, user_types: ['carrier'], permissions: [] };
      await service.post('/role/create', { ...admin, body });
      const extended = { ...admin, body: { permissions: ['user:read'] } };
      expect((await service.patch(`/role/${body.name}`, extended)).status).toBe(200);
      expect((await confirm(link)).status).toBe(204);
    });
  });

  describe('an address that passes to another user', () => {
    it('transfers no link and no session of the deleted user to the new one (E8)', async () => {
      const reset = await mailedResetToken(service, user.email);
      await service.delete(`/user/${user.user_id}`, admin);
      const heir = await service.createUser({ email: user.email, name: user.name });
      const used = await service.post(`/auth/reset/${reset}`, { body: { password: 'an entirely new phrase' } });
      expect(used.status).toBe(404);
      expect((await service.get('/user', { token: user.token })).status).toBe(401);
      const refresh = { body: { refresh_token: user.refresh_token } };
      expect((await service.post('/auth/check-token', refresh)).status).toBe(401);
      expect((await service.login(user.email)).user_id).toBe(heir.user_id);
    });

    it('gets no link for a request from before the change (E8)', async () => {
      const token = await tokenMailedDuring('reset', user.email, 'email = $2', next);
      const link = `/auth/reset/${token ?? 'A'.repeat(43)}`;
      expect((await service.get(link)).status).toBe(404);
      expect((await service.post(link, { body: { password: 'an entirely new phrase' } })).status).toBe(404);
    });
  });

  describe('similar addresses', () => {
    it('creates exactly one user in 20 parallel requests for one address in any case (E6)', async () => {
      const variants = ['Race@Example.com', 'race@example.com', 'RACE@EXAMPLE.COM', ' race@example.com '];
      const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => invite(variants[n % variants.length])));
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
      expect(answers.filter(({ body }) => body.code === 'user.email_taken')).toHaveLength(19);
      expect((await service.get('/user/list?email=RACE@example.com', admin)).body.items).toHaveLength(1);
    });

    it('are equal if they differ by case, or by a domain in Unicode or in A-labels (E7)', async () => {
      for (const [first, second] of [
        ['Ada.L+Tag@Example.ORG', 'aDA.l+tAG@eXAMPLE.org'],
        ['ada@b\u00FCcher.example', 'ada@XN--BCHER-KVA.example'],
      ]) {
        expect((await invite(first)).status).toBe(201);
        expect((await invite(second)).body.code).toBe('user.email_taken');
      }
    });

    it('are different if they differ by a tag or dots: a reset is mailed to neither but its own (E7)', async () => {
      for (const [first, second] of [
        ['bob+one@example.org', 'bob+two@example.org'],
        ['bob.smith@example.org', 'bobsmith@example.org'],
      ]) {
        expect((await invite(first)).status).toBe(201);
        await emptyMailbox();
        await endMailLimits(service);
        expect((await service.post('/auth/reset_email', { body: { email: second } })).status).toBe(202);
        await queueEmpty(service);
        expect(service.mailbox.mails).toEqual([]);
        expect((await invite(second)).status).toBe(201);
      }
    });

    it('get a mail at the stored address, not at the typed one (E7)', async () => {
      const { email } = await service.createUser({ email: 'Carol+Tag@B\u00FCcher.example' });
      expect(email).toBe('Carol+Tag@xn--bcher-kva.example');
      for (const typed of ['CAROL+TAG@XN--BCHER-KVA.EXAMPLE', ' Carol+Tag@bu\u0308cher.example ']) {
        await endMailLimits(service);
        await service.post('/auth/reset_email', { body: { email: typed } });
        // The mail server of the test shows domains in Unicode.
        const { to, source } = await service.mailbox.take('Carol+Tag@b\u00FCcher.example');
        expect([to.length, /^To: (.*)$/m.exec(source)?.[1]?.trim()]).toEqual([1, email]);
      }
    });
  });

  it('rejects what is not an address wherever one is accepted, and sends no mail (E9)', async () => {
    await emptyMailbox();
    const wrong = ['victim@example.com\uFF20example.org', '"a"@example.org', 'a@[127.0.0.1]', '('.repeat(60_000)];
    for (const email of wrong) {
      const answers = [
        await invite(email),
        await service.post('/auth/reset_email', { body: { email } }),
        await propose(email),
        await patch({ email }),
      ];
      expect(answers.map(({ status, body }) => `${status} ${body?.errors?.[0].pointer}`)).toEqual(
        Array<string>(4).fill('400 /email'),
      );
    }
    await queueEmpty(service);
    expect(service.mailbox.mails).toEqual([]);
  });

  it('rejects further recipients or headers in an address (R18)', async () => {
    const { email } = user;
    await emptyMailbox();
    const typed = [`${email}\r\nBcc: x@example.org`, `${email}\u0000`, `${email},x@example.org`, `x <${email}>`];
    for (const value of [...typed, [email], [email, 'x@example.org'], { address: email }, null, true, 0])
      expect((await service.post('/auth/reset_email', { body: { email: value } })).status).toBe(400);
    const form = `email=${encodeURIComponent(email)}&email=x@example.org`;
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await service.post('/auth/reset_email', { headers, body: form })).status).toBe(415);
    expect((await service.post(`/auth/reset_email?email=x@example.org`, { body: { email } })).status).toBe(400);
    await service.post('/auth/reset_email', { body: { email: email.toUpperCase() } });
    expect((await service.mailbox.take(email)).to).toEqual([email]);
    await queueEmpty(service);
    expect(service.mailbox.mails).toEqual([]);
  });

  it('rejects a login name that is the address of another user (E10)', async () => {
    for (const name of [user.email, user.email.toUpperCase(), 'x@example.org', 'a\uFF20b.example', '@name']) {
      const body = { user_type: 'carrier', carrier_id: 'c1', name, email: next };
      for (const { body: refused } of [
        await service.post('/user/create', { token: admin.token, body }),
        await patch({ name }, admin.user_id),
      ])
        expect(refused).toMatchObject({ status: 400, errors: [{ pointer: '/name' }] });
    }
    await service.createUser({ name: user.email.replace('@', '-') });
    expect((await service.login(user.email)).user_id).toBe(user.user_id);
  });
});
