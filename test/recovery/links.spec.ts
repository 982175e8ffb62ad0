import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { endMailLimits, mailedResetToken, queueEmpty, visibleResponse } from '../support/data/links';
import { password, type TestAnswer, TestService } from '../support/service';
import { until } from '../support/until';

const newPassword = 'an entirely new phrase';
const html = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' };
const portal = 'https://portal.example.net/start?a=1&b=2';
const home = '<a href="https://portal.example.net/start?a&#x3D;1&amp;b&#x3D;2">';
const form = { ...html, 'content-type': 'application/x-www-form-urlencoded' };

describe('a reset link', () => {
  let service: TestService;
  let user: { user_id: string; name: string; email: string };
  beforeAll(async () => {
    service = await TestService.start({
      PASSWORD_MIN_LENGTH: '16',
      PORTAL_URL: portal,
      PRODUCT_NAME: 'Acme & Co',
    });
  });
  beforeEach(async () => {
    user = await service.createUser({ roles: ['carrier_user'] });
  });
  afterAll(() => service.close());

  const reset = (token: string, secret = newPassword) =>
    service.post(`/auth/reset/${token}`, { body: { password: secret } });
  const loginStatus = async (secret: string) =>
    (await service.post('/auth/login', { body: { login: user.name, password: secret } })).status;
  const stored = async () => (await service.get(`/user/${user.user_id}`, service.admin)).body;

  /** The response to every invalid token, which does not say why. */
  async function expectInvalid(token: string): Promise<void> {
    const never = visibleResponse(await reset('A'.repeat(43)));
    expect(never).toMatchObject({ status: 404, text: expect.stringContaining('"reset.token_invalid"') });
    expect(visibleResponse(await reset(token))).toEqual(never);
    expect(visibleResponse(await service.get(`/auth/reset/${token}`))).toEqual(never);
  }

  it('resets the password once (R9)', async () => {
    const token = await mailedResetToken(service, user.email);
    expect((await reset(token)).status).toBe(204);
    await expectInvalid(token);
    expect((await reset(token, 'the phrase of another user')).status).toBe(404);
    expect(await loginStatus(newPassword)).toBe(200);
    expect(await loginStatus('the phrase of another user')).toBe(401);
  });

  it('accepts one of 20 parallel resets with the same link and rejects the others (R10)', async () => {
    const token = await mailedResetToken(service, user.email);
    const secrets = Array.from({ length: 20 }, (_, index) => `phrase of request ${index}`);
    const answers = await Promise.all(secrets.map((secret) => reset(token, secret)));
    const winners = secrets.filter((_, index) => answers[index]?.status === 204);
    expect(winners).toHaveLength(1);
    const rejected = answers.filter(({ status }) => status !== 204).map(({ body }) => body.code as string);
    expect(rejected.filter((code) => code !== 'request.rate_limited').length).toBeGreaterThan(0);
    for (const code of rejected) expect(['reset.token_invalid', 'request.rate_limited']).toContain(code);
    expect(await loginStatus(winners[0] ?? '')).toBe(200);
    expect(await loginStatus(secrets.find((secret) => secret !== winners[0]) ?? '')).toBe(401);
  });

  it('rejects texts that look like an unset token (R11)', async () => {
    await mailedResetToken(service, user.email);
    const words = ['', 'null', 'undefined', '0', '%00', '..', '{}', '*', 'true', '%E2%80%8B'];
    for (const token of [...words, 'A'.repeat(42), `${'A'.repeat(43)}=`]) {
      const { status, body } = await reset(token);
      expect([token, status]).toEqual([token, 404]);
      expect(['reset.token_invalid', 'request.not_found']).toContain(body.code);
    }
    expect(await loginStatus(password)).toBe(200);
  });

  describe('an outdated link', () => {
    it.each<[string, () => Promise<unknown>]>([
      ['a reset by another link', async () => reset(await mailedResetToken(service, user.email))],
      [
        'the confirmation of another address',
        async () => {
          await service.patch(`/user/${user.user_id}`, { ...service.admin, body: { email: `new-${user.email}` } });
          const confirmation = await service.mailbox.take(`new-${user.email}`);
          expect((await service.post(`/auth/email/${confirmation.token}`)).status).toBe(204);
        },
      ],
      ['disabling', () => service.patch(`/user/${user.user_id}`, { ...service.admin, body: { status: 'disabled' } })],
      ['deletion', () => service.delete(`/user/${user.user_id}`, service.admin)],
      ['purging', () => service.delete(`/user/${user.user_id}?purge=true`, service.admin)],
    ])('rejects a link after %s (R12)', async (_name, event) => {
      const token = await mailedResetToken(service, user.email);
      expect((await service.get(`/auth/reset/${token}`)).status).toBe(200);
      await event();
      await expectInvalid(token);
      await service.post(`/user/${user.user_id}/restore`, service.admin);
      await service.patch(`/user/${user.user_id}`, { ...service.admin, body: { status: 'active' } });
      await expectInvalid(token);
    });

    it('rejects a link from a newer request on, before the new mail is sent (R12)', async () => {
      const token = await mailedResetToken(service, user.email);
      await endMailLimits(service);
      service.mailbox.rejects = true;
      await service.post('/auth/reset_email', { body: { email: user.email } });
      await until(async () => (await service.get(`/auth/reset/${token}`)).status === 404);
      service.mailbox.rejects = false;
      await service.rows('update graphile_worker._private_jobs set run_at = now() where locked_at is null');
      expect((await service.mailbox.take(user.email, /\/auth\/reset\//)).token).not.toBe(token);
    });
  });

  it('accepts a link before its expiry, and rejects it one second after (R13)', async () => {
    const token = await mailedResetToken(service, user.email);
    const { expires_at } = (await service.get(`/auth/reset/${token}`)).body;
    expect(Math.abs(Date.parse(expires_at) - Date.now() - 3_600_000)).toBeLessThan(60_000);
    const expire = (seconds: number) =>
      service.rows(`update one_time_tokens set expires_at = now() + $1 * interval '1 second' where user_id = $2`, [
        seconds,
        user.user_id,
      ]);
    await expire(-1);
    await expectInvalid(token);
    expect(await loginStatus(password)).toBe(200);
    await expire(60);
    expect((await reset(token)).status).toBe(204);
  });

  it('rejects a request that names another user, and changes only its own user (R15)', async () => {
    const other = await service.createUser();
    const token = await mailedResetToken(service, user.email);
    for (const field of [{ user_id: other.user_id }, { email: other.email }, { login: other.name }, { token: 'x' }]) {
      const answer = await service.post(`/auth/reset/${token}`, { body: { password: newPassword, ...field } });
      expect(answer.body).toMatchObject({ code: 'request.invalid', errors: [{ code: 'field.unknown' }] });
    }
    expect(
      (await service.post(`/auth/reset/${token}?user_id=${other.user_id}`, { body: { password: newPassword } })).status,
    ).toBe(400);
    expect((await reset(token)).status).toBe(204);
    expect(await loginStatus(newPassword)).toBe(200);
    expect((await service.post('/auth/login', { body: { login: other.name, password } })).status).toBe(200);
  });

  it('responds to a token longer than any route parameter with the documented error (R20)', async () => {
    expect(await mailedResetToken(service, user.email)).toHaveLength(43);
    for (const length of [100, 101, 128, 129, 10_000]) await expectInvalid('a'.repeat(length));
  });

  it('ends all sessions of the user (R16)', async () => {
    const logins = [await service.login(user.name), await service.login(user.email)];
    const bystander = await service.loginAs();
    expect((await reset(await mailedResetToken(service, user.email))).status).toBe(204);
    for (const { token, refresh_token } of logins) {
      expect((await service.get('/user', { token })).status).toBe(401);
      for (const body of [{ token }, { refresh_token }])
        expect((await service.post('/auth/check-token', { body })).status).toBe(401);
    }
    expect((await service.get('/user', bystander)).status).toBe(200);
    const found = `/auth/session/list?user_id=${user.user_id}&ended_reason=password_changed`;
    expect((await service.get(found, service.admin)).body.items).toHaveLength(2);
  });

  it('responds without a login and without data of the user (R17)', async () => {
    const token = await mailedResetToken(service, user.email);
    const check = await service.get(`/auth/reset/${token}`);
    expect(check.body).toEqual({ expires_at: expect.any(String), kind: 'reset' });
    const asked = await service.post('/auth/reset_email', { body: { email: user.email } });
    const answers = [check, asked, await reset(token)];
    expect(answers.map(({ text }) => text)).toEqual([check.text, '{}', '']);
    for (const { headers } of answers) {
      expect(headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
      expect(headers['set-cookie']).toBeUndefined();
      const data = new RegExp(`${user.name}|${user.user_id}|${token}|location|bearer`, 'i');
      expect(JSON.stringify(headers)).not.toMatch(data);
    }
    expect(await service.rows('select 1 from sessions where user_id = $1', [user.user_id])).toEqual([]);
  });

  it('keeps the link valid when a mail scanner opens it (R19)', async () => {
    const token = await mailedResetToken(service, user.email);
    const scan = (method: string, accept: string) =>
      service.inject({ method, url: `/auth/reset/${token}`, headers: { accept, 'user-agent': 'Scanner/1.0' } });
    expect((await scan('GET', '*/*')).statusCode).toBe(200);
    expect((await scan('GET', 'text/html')).statusCode).toBe(200);
    expect((await scan('HEAD', '*/*')).statusCode).toBe(405);
    expect((await scan('OPTIONS', '*/*')).statusCode).toBe(405);
    expect((await reset(token)).status).toBe(204);
  });

  it('rejects a weak or malformed password with the usual codes, and keeps the link valid (R22)', async () => {
    const token = await mailedResetToken(service, user.email);
    const fault = async (secret: unknown) => {
      const { status, body } = await service.post(`/auth/reset/${token}`, { body: { password: secret } });
      return status === 400 ? body.errors[0].code : status;
    };
    const refused: [string, unknown][] = [
      ['password.too_short', '🦊'.repeat(15)],
      ['password.too_long', 'é1 '.repeat(86)],
      ['field.too_long', 'x'.repeat(1_025)],
      ['password.common', 'qwertyuiopasdfgh'],
      ['password.contains_identity', `my name is ${user.name.toUpperCase()}`],
      ['field.malformed', 'nothing after\u0000 this counts'],
      ['field.malformed', 'half a fox \ud83e and more'],
      ['field.too_short', ''],
      ['field.wrong_type', ['correct horse battery']],
      ['field.wrong_type', null],
      ['field.required', undefined],
    ];
    for (const [code, secret] of refused) expect([secret, await fault(secret)]).toEqual([secret, code]);
    expect(await loginStatus(password)).toBe(200);
    const long = `семь мостов и тихая река ${'Ж2 '.repeat(77)}`;
    expect(await fault(long)).toBe(204);
    expect(await loginStatus(long)).toBe(200);
    expect(await loginStatus(long.slice(0, -1))).toBe(401);
  });

  describe('by a user who cannot log in', () => {
    it('leaves a disabled user disabled, by an older link and by a new request (R23)', async () => {
      const token = await mailedResetToken(service, user.email);
      // By SQL, which leaves the link valid.
      await service.rows(`update users set status = 'disabled' where user_id = $1`, [user.user_id]);
      expect((await reset(token)).body.code).toBe('reset.token_invalid');
      await service.rows(`update one_time_tokens set requested_at = requested_at - interval '1 hour'`);
      expect((await service.post('/auth/reset_email', { body: { email: user.email } })).status).toBe(202);
      await queueEmpty(service);
      expect(service.mailbox.mails.filter(({ to }) => to.includes(user.email))).toEqual([]);
      expect([await loginStatus(password), await loginStatus(newPassword)]).toEqual([401, 401]);
      expect((await stored()).status).toBe('disabled');
    });

    it('ends a lockout and the duty to change the password, and confirms the address (R23)', async () => {
      await service.rows(
        `update users set locked_until = now() + interval '1 hour', must_change_password = true where user_id = $1`,
        [user.user_id],
      );
      const { must_change_password, email_verified_at, locked_until } = await stored();
      expect([must_change_password, email_verified_at, locked_until]).toEqual([true, null, expect.any(String)]);
      expect((await reset(await mailedResetToken(service, user.email))).status).toBe(204);
      const verified = { email_verified_at: expect.any(String) as unknown };
      expect(await stored()).toMatchObject({ must_change_password: false, locked_until: null, ...verified });
      const { token } = await service.login(user.name, newPassword);
      expect((await service.get('/user', { token })).status).toBe(200);
    });
  });

  it('notifies the user of the changed password, without secrets or links (R24)', async () => {
    const token = await mailedResetToken(service, user.email);
    await reset(token);
    const { source } = await service.mailbox.take(user.email, /Subject: Your password was changed/);
    for (const secret of [token, newPassword, '/auth/']) expect(source).not.toContain(secret);
  });

  describe('as a page', () => {
    let token: string;
    beforeEach(async () => {
      token = await mailedResetToken(service, user.email);
    });

    const postForm = (secret: string, link = token) =>
      service.post(`/auth/reset/${link}`, {
        headers: form,
        body: new URLSearchParams({ password: secret }).toString(),
      });

    /**
     * Expects a page that loads only the script of the service and allows no framing, caching or
     * referrer.
     */
    function expectInert({ headers, text }: TestAnswer): void {
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; form-action 'self'; " +
          "frame-ancestors 'none'; base-uri 'none'",
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        vary: 'Accept, Accept-Language',
      });
      const own = text.replace('<script src="../link-page.js" defer></script>', '').replace(home, '');
      expect(own).not.toMatch(
        /<(script|img|link|iframe|object|embed|base)\b|\son\w+=|javascript:|https?:|url\(|@import/i,
      );
      expect(text).not.toContain(token);
      // The only data of the user is the login name, for password managers.
      const login = `<input id="login" type="text" autocomplete="username" value="${user.name}" readonly hidden>`;
      expect(text.replace(login, '')).not.toContain(user.name);
    }

    it('sets the password exactly as typed in a form that needs no scripts, once (R9, R11)', async () => {
      const page = await service.get(`/auth/reset/${token}`, { headers: html });
      expect(page.status).toBe(200);
      expectInert(page);
      expect(page.text).toMatch(
        /<form method="post">[^]*name="password" type="password"[^]*autocomplete="new-password"/,
      );
      const secret = ' a+b & c=d %41 é 🦊 "<b>" ';
      const done = await postForm(secret);
      expect(done.status).toBe(200);
      expect(done.text).toContain('Your password is set');
      expect((await service.login(user.name, secret)).token).toBeTruthy();
      const pages = [
        await service.get(`/auth/reset/${token}`, { headers: html }),
        await postForm('some more words of mine'),
      ];
      expect(pages.map(({ status }) => status)).toEqual([404, 404]);
      for (const used of pages)
        expect(used.text).toContain('The link was already used or replaced, has expired, or is incomplete.');
      for (const last of [done, ...pages]) {
        expectInert(last);
        expect(last.text).not.toContain('<form');
        expect(last.text).toContain(`${home}Continue to Acme &amp; Co</a>`);
      }
    });

    it('shows the form again with the reason after a weak password, and keeps the link valid (R22)', async () => {
      const weak = '<script>x()';
      const refused = await postForm(weak);
      expect(refused.status).toBe(400);
      expectInert(refused);
      expect(refused.text).toContain('role="alert">The password must have at least 16 characters.</p>');
      expect(refused.text).toContain('<form method="post">');
      expect(refused.text).not.toContain('x()');
      expect((await service.post(`/auth/reset/${token}`, { headers: form, body: '' })).text).toContain(
        'The password is required.',
      );
      expect((await postForm('another phrase of mine')).status).toBe(200);
    });

    it('rejects a form with repeated, foreign or malformed fields, and keeps the link valid (R15)', async () => {
      const good = 'password=a+good+long+phrase';
      for (const body of [`${good}&user_id=x`, `${good}&${good}`, `${good}&__proto__=x`, `${good}%00`])
        expect([body, (await service.post(`/auth/reset/${token}`, { headers: form, body })).status]).toEqual([
          body,
          400,
        ]);
      expect((await service.get(`/auth/reset/${token}`)).status).toBe(200);
    });

    it('shows a page to confirm an address, and opening the page does not confirm the address (E5)', async () => {
      const carrierUser = await service.loginAs();
      const email = `new-${carrierUser.email}`;
      await service.post('/auth/email', { token: carrierUser.token, body: { email, current_password: password } });
      const link = `/auth/email/${(await service.mailbox.take(email)).token}`;
      const page = await service.get(link, { headers: html });
      expectInert(page);
      expect(page.text).toMatch(/<form method="post">[^]*Confirm the address<\/button>/);
      expect((await service.get('/user', carrierUser)).body).toMatchObject({
        email: carrierUser.email,
        email_pending: email,
      });
      const done = await service.post(link, { headers: form, body: '' });
      expect(done.status).toBe(200);
      expectInert(done);
      expect(done.text).toContain('Your e-mail address is confirmed');
      expect((await service.get('/user', carrierUser)).body).toMatchObject({ email, email_pending: null });
      const again = await service.post(link, { headers: form, body: '' });
      expect(again.status).toBe(404);
      expect(again.text).not.toContain('<form');
    });

    it('is in the language of the user, or else in the language that the browser prefers', async () => {
      const german = await service.createUser({ locale: 'de-AT' });
      const link = `/auth/reset/${await mailedResetToken(service, german.email)}`;
      const page = await service.get(link, { headers: { ...html, 'accept-language': 'en' } });
      expect(page.headers['content-language']).toBe('de');
      expect(page.text).toMatch(/<html lang="de">[^]*Neues Passwort<[^]*Mindestens 16 Zeichen\./);
      const weak = await service.post(link, { headers: form, body: 'password=kurz' });
      expect(weak.text).toContain('role="alert">Das Passwort muss mindestens 16 Zeichen lang sein.</p>');
      const done = await service.post(link, { headers: form, body: 'password=ein+ganz+neuer+langer+Satz' });
      expect(done.text).toMatch(/Ihr Passwort ist festgelegt[^]*Weiter zu Acme &amp; Co<\/a>/);
      // The link is used up, so the page no longer knows the language of the user.
      const used = await service.get(link, { headers: { ...html, 'accept-language': 'fr, de;q=0.5' } });
      expect(used.text).toContain('Dieser Link ist nicht mehr gültig');
      expect((await service.get(link, { headers: html })).text).toContain('<html lang="en">');
    });

    it('contains the login name for password managers, on the page of a valid link only (R17)', async () => {
      const field = `autocomplete="username" value="${user.name}"`;
      const page = await service.get(`/auth/reset/${token}`, { headers: html });
      expect(page.text).toContain(field);
      expect((await postForm('short')).text).toContain(field);
      for (const accept of ['*/*', 'application/json', 'text/plain']) {
        const { headers, body } = await service.get(`/auth/reset/${token}`, { headers: { accept } });
        expect(headers['content-security-policy']).toBe("default-src 'none'; frame-ancestors 'none'");
        expect(Object.keys(body).sort()).toEqual(['expires_at', 'kind']);
      }
      const wrong = `${token.slice(0, -4)}AAAA`;
      for (const answer of [
        await service.get(`/auth/reset/${wrong}`, { headers: html }),
        await service.post(`/auth/reset/${wrong}`, { headers: form, body: '' }),
      ])
        expect(answer.text).not.toContain(user.name);
    });

    it('serves its script as a file that no other site can load', async () => {
      const { status, headers, text } = await service.get('/auth/link-page.js');
      expect([status, headers['content-type']]).toEqual([200, 'text/javascript; charset=utf-8']);
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'cross-origin-resource-policy': 'same-origin',
      });
      expect(text).not.toMatch(/innerHTML|eval|fetch|http/);
    });
  });
});

it('escapes every value in all templates (R11)', () => {
  const templates = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.hbs'));
  expect(templates.length).toBeGreaterThan(2);
  for (const file of templates)
    expect([file, readFileSync(join('src', file), 'utf8')]).toEqual([file, expect.not.stringMatching(/\{\{(\{|&)/)]);
});
