import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../support/until';
import { password, TestService } from '../../support/service';

/** Returns the decoded parts of a mail by content type. */
function partsOf(source: string): { headers: string; text: string; html: string } {
  const [headers = '', ...rest] = source.split(/\r?\n\r?\n/);
  const boundary = /boundary="([^"]+)"/.exec(headers)?.[1] ?? 'none';
  const parts: Record<string, string> = {};
  for (const part of rest.join('\n\n').split(`--${boundary}`)) {
    const [head = '', ...body] = part.trim().split(/\r?\n\r?\n/);
    const type = /Content-Type: ([^;\s]+)/i.exec(head)?.[1] ?? 'none';
    const encoding = /Content-Transfer-Encoding: (\S+)/i.exec(head)?.[1] ?? '7bit';
    const content = body.join('\n\n');
    if (encoding === 'base64') parts[type] = Buffer.from(content, 'base64').toString();
    else if (encoding === 'quoted-printable') parts[type] = decodeQuotedPrintable(content);
    else parts[type] = content;
  }
  return { headers, text: parts['text/plain'] ?? '', html: parts['text/html'] ?? '' };
}

function decodeQuotedPrintable(content: string): string {
  const bytes = content
    .replace(/=\r?\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_match, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

/** Checks that a mail loads and runs nothing, and has the same content in both forms. */
function expectWellMade({ headers, text, html }: ReturnType<typeof partsOf>, language: string, link?: string): void {
  expect(headers).toMatch(/^Content-Type: multipart\/alternative/m);
  expect(html).toContain(`<html lang="${language}">`);
  expect(html).not.toMatch(/<(script|img|link|iframe|form)\b|\son\w+=|javascript:|url\(/i);
  const paragraphs = text.split('\n\n').slice(0, -1);
  for (const paragraph of paragraphs) expect(html).toContain(paragraph.trim().replace(/\r?\n/g, ' '));
  if (link === undefined) {
    expect(html).not.toContain('<a ');
  } else {
    expect(text.split(/\s+/)).toContain(link);
    expect(html).toContain(`<a href="${link}"`);
  }
}

describe('mails', () => {
  describe('sent by SMTP', () => {
    let service: TestService;
    beforeAll(async () => {
      service = await TestService.start({
        PUBLIC_URL: 'https://identity.example.net',
        RESET_PAGE_URL: 'https://portal.example.net/welcome/{token}#form',
        MAIL_FROM: 'Carrier <identity@example.net>',
      });
    });
    afterAll(() => service.close());

    it.each([
      ['de-AT', 'de', 'Einladung'],
      ['DE', 'de', 'Einladung'],
      ['en-GB', 'en', 'Your invitation'],
      ['fr-FR', 'en', 'Your invitation'],
      [null, 'en', 'Your invitation'],
    ])('sends text and HTML in the language of the user: %s (R24)', async (locale, language, subject) => {
      const user = await service.createUser({ locale, password: undefined, must_change_password: undefined });
      const { source, token } = await service.mailbox.take(user.email);
      const mail = partsOf(source);
      expect(mail.headers).toMatch(/^From: Carrier <identity@example.net>$/m);
      expect(mail.html).toContain(subject);
      expectWellMade(mail, language, `https://portal.example.net/welcome/${tokenOf(mail.text)}#form`);
      expect(token).toBeNull();
      expect((await service.post(`/auth/reset/${tokenOf(mail.text)}`, { body: { password } })).status).toBe(204);
      expectWellMade(partsOf((await service.mailbox.take(user.email)).source), language);
    });

    it('repeats nothing that a user chose (I17)', async () => {
      const words = {
        first_name: '<b>Win</b> https://evil.test',
        last_name: '{{token}}',
        attributes: { note: 'https://evil.test' },
      };
      const user = await service.loginAs({ ...words, name: 'evil.test' });
      await service.post('/auth/email', {
        token: user.token,
        body: { email: 'next@example.org', current_password: password },
      });
      await service.post('/auth/reset_email', { body: { email: user.email } });
      const mails = [
        await service.mailbox.take('next@example.org'),
        await service.mailbox.take(user.email, /Subject: A new/),
        await service.mailbox.take(user.email, /Subject: Set/),
      ];
      for (const { source } of mails) expect(source.replace(/^To: .*$/m, '')).not.toMatch(/evil\.|Win<|\{\{/);
    });
  });

  describe('without a mail server', () => {
    let service: TestService;
    let outbox: string;
    beforeAll(async () => {
      service = await TestService.start({ SMTP_URL: '' });
      outbox = join(service.config.DATA_DIR, 'outbox');
    });
    afterAll(() => service.close());

    it('writes mails into the outbox, which only its owner can read (R21)', async () => {
      const user = await service.createUser({ locale: 'de', password: undefined, must_change_password: undefined });
      await until(async () => allIn(outbox).includes('</html>'));
      const [file = ''] = filesIn(outbox);
      expect(file).toMatch(/^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z-invitation-[0-9a-f-]{36}\.eml$/);
      expect([statSync(outbox).mode & 0o777, statSync(join(outbox, file)).mode & 0o777]).toEqual([0o700, 0o600]);
      const source = readFileSync(join(outbox, file), 'utf8');
      expect(/^To: (.*)$/m.exec(source)?.[1]?.trim()).toBe(user.email);
      const mail = partsOf(source);
      const token = tokenOf(mail.text);
      expectWellMade(mail, 'de', `${service.config.PUBLIC_URL}/auth/reset/${token}`);
      expect((await service.post(`/auth/reset/${token}`, { body: { password } })).status).toBe(204);
      expect((await service.login(user.email)).user_id).toBe(user.user_id);
      await until(async () => filesIn(outbox).some((name) => name.includes('-password-changed-')));
    });

    it('writes no mail to an address of a reserved domain (R18)', async () => {
      const unreachable = await service.createUser({
        email: 'x@carrier-identity.invalid',
        password: undefined,
        must_change_password: undefined,
      });
      const reachable = await service.createUser({ password: undefined, must_change_password: undefined });
      await until(async () => allIn(outbox).includes(reachable.email));
      expect(allIn(outbox)).not.toContain(unreachable.email);
    });
  });
});

function tokenOf(text: string): string {
  return /\/([A-Za-z0-9_-]{43})(?:#form)?\s/.exec(text)?.[1] ?? '';
}

function filesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function allIn(directory: string): string {
  return filesIn(directory)
    .map((name) => readFileSync(join(directory, name), 'utf8'))
    .join('\n');
}
