import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mailedResetToken } from '../support/links';
import { password, type TestAnswer, TestService } from '../support/service';

const html = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' };
const portal = 'https://portal.example.net/start?a=1&b=2';
const form = { ...html, 'content-type': 'application/x-www-form-urlencoded' };

describe('the pages behind mailed links', () => {
  let service: TestService;
  let user: { user_id: string; name: string; email: string };
  let token: string;

  beforeAll(async () => {
    service = await TestService.start({
      PASSWORD_MIN_LENGTH: '16',
      PORTAL_URL: portal,
      PRODUCT_NAME: 'Acme & Co',
    });
    user = await service.createUser();
  });
  beforeEach(async () => {
    token = await mailedResetToken(service, user.email);
  });
  afterAll(() => service.close());

  const postForm = (secret: string, link = token) =>
    service.post(`/auth/reset/${link}`, { headers: form, body: new URLSearchParams({ password: secret }).toString() });

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
    const own = text
      .replace('<script src="../link-page.js" defer></script>', '')
      .replace('<a href="https://portal.example.net/start?a&#x3D;1&amp;b&#x3D;2">', '');
    expect(own).not.toMatch(
      /<(script|img|link|iframe|object|embed|base)\b|\son\w+=|javascript:|https?:|url\(|@import/i,
    );
    expect(text).not.toContain(token);
    // The only data of the user is the login name, for password managers.
    const login = `<input id="login" type="text" autocomplete="username" value="${user.name}" readonly hidden>`;
    expect(text.replace(login, '')).not.toContain(user.name);
  }

  it('sets the password exactly as typed from a form that needs no scripts (R11)', async () => {
    const page = await service.get(`/auth/reset/${token}`, { headers: html });
    expect(page.status).toBe(200);
    expectInert(page);
    expect(page.text).toMatch(/<form method="post">[^]*name="password" type="password"[^]*autocomplete="new-password"/);
    const secret = ' a+b & c=d %41 é 🦊 "<b>" ';
    const done = await postForm(secret);
    expect(done.status).toBe(200);
    expectInert(done);
    expect(done.text).toContain('Your password is set');
    expect(done.text).not.toContain('<form');
    expect(done.text).toContain('Continue to Acme &amp; Co</a>');
    expect((await service.login(user.name, secret)).token).toBeTruthy();
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

  it('shows a page without a form for a used link (R9)', async () => {
    expect((await postForm('yet another phrase of mine')).status).toBe(200);
    for (const page of [
      await service.get(`/auth/reset/${token}`, { headers: html }),
      await postForm('some more words of mine'),
    ]) {
      expect(page.status).toBe(404);
      expectInert(page);
      expect(page.text).toContain(
        'The link was already used or replaced, has expired, or is incomplete. Request a new link.',
      );
      expect(page.text).toContain(
        '<a href="https://portal.example.net/start?a&#x3D;1&amp;b&#x3D;2">Continue to Acme &amp; Co</a>',
      );
      expect(page.text).not.toContain('<form');
    }
  });

  it.each([
    ['a field of another user', `password=a+good+long+phrase&user_id=x`],
    ['the password twice', 'password=a+good+long+phrase&password=a+good+long+phrase'],
    ['a prototype key', 'password=a+good+long+phrase&__proto__=x'],
    ['a NUL', 'password=a+good+long+phrase%00'],
  ])('rejects a form with %s and keeps the link valid (R15)', async (_name, body) => {
    const refused = await service.post(`/auth/reset/${token}`, { headers: form, body });
    expect(refused.status).toBe(400);
    expect((await service.get(`/auth/reset/${token}`)).status).toBe(200);
  });

  it('accepts forms at the links only (R15)', async () => {
    const body = new URLSearchParams({ login: user.name, password, email: user.email }).toString();
    for (const url of ['/auth/login', '/auth/reset_email', '/auth/check-token', '/auth/logout'])
      expect((await service.post(url, { headers: form, body })).status).toBe(415);
    for (const url of ['/auth/email', '/auth/password', '/user/create'])
      expect((await service.post(url, { headers: form, body, token: service.admin.token })).status).toBe(415);
    for (const type of ['text/plain', 'multipart/form-data; boundary=x'])
      expect((await service.post(`/auth/reset/${token}`, { headers: { 'content-type': type }, body })).status).toBe(
        415,
      );
  });

  it('shows a page to confirm an address, and opening the page does not confirm the address (E5)', async () => {
    const carrierUser = await service.loginAs();
    const email = `new-${carrierUser.email}`;
    await service.post('/auth/email', { token: carrierUser.token, body: { email, current_password: password } });
    const link = `/auth/email/${(await service.mailbox.take(email)).token}`;
    const page = await service.get(link, { headers: html });
    expectInert(page);
    expect(page.text).toMatch(/<form method="post">[^]*Confirm the address<\/button>/);
    expect((await service.get('/user', { token: carrierUser.token })).body).toMatchObject({
      email: carrierUser.email,
      email_pending: email,
    });
    const done = await service.post(link, { headers: form, body: '' });
    expect(done.status).toBe(200);
    expectInert(done);
    expect(done.text).toContain('Your e-mail address is confirmed');
    expect((await service.get('/user', { token: carrierUser.token })).body).toMatchObject({
      email,
      email_pending: null,
    });
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
    const reset = await service.get(`/auth/reset/${token}`);
    expect(Object.keys(reset.body).sort()).toEqual(['expires_at', 'kind']);
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

  it('returns a page only to a client that accepts HTML (R17)', async () => {
    for (const accept of ['*/*', 'application/json', 'text/plain']) {
      const answer = await service.get(`/auth/reset/${token}`, { headers: { accept } });
      expect(answer.headers).toMatchObject({ 'content-type': 'application/json; charset=utf-8' });
      expect(answer.headers['content-security-policy']).toBe("default-src 'none'; frame-ancestors 'none'");
    }
  });
});

it('escapes every value in all templates (R11)', () => {
  const templates = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.hbs'));
  expect(templates.length).toBeGreaterThan(2);
  for (const file of templates)
    expect([file, readFileSync(join('src', file), 'utf8')]).toEqual([file, expect.not.stringMatching(/\{\{(\{|&)/)]);
});
