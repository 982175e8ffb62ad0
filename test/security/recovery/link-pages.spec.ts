import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mailedResetToken } from '../../support/links';
import { password, type TestAnswer, TestService } from '../../support/service';

const html = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' };
const form = { ...html, 'content-type': 'application/x-www-form-urlencoded' };

describe('the pages behind mailed links', () => {
  let service: TestService;
  let user: { user_id: string; name: string; email: string };
  let token: string;

  beforeAll(async () => {
    service = await TestService.start();
    user = await service.createUser();
  });
  beforeEach(async () => {
    token = await mailedResetToken(service, user.email);
  });
  afterAll(() => service.close());

  const postForm = (secret: string, link = token) =>
    service.post(`/auth/reset/${link}`, { headers: form, body: new URLSearchParams({ password: secret }).toString() });

  /** Expects a page without scripts and resources that allows no framing, caching or referrer. */
  function expectInert({ headers, text }: TestAnswer): void {
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      vary: 'Accept',
    });
    expect(text).not.toMatch(
      /<(script|img|link|iframe|object|embed|base)\b|\son\w+=|javascript:|https?:|url\(|@import/i,
    );
    expect(text).not.toContain(token);
    expect(text).not.toContain(user.name);
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
    expect((await service.login(user.name, secret)).token).toBeTruthy();
  });

  it('shows the form again with the reason after a weak password, and keeps the link valid (R22)', async () => {
    const weak = '<script>x()';
    const refused = await postForm(weak);
    expect(refused.status).toBe(400);
    expectInert(refused);
    expect(refused.text).toContain('role="alert">The password must have at least 15 characters.</p>');
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
