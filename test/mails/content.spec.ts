import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { queueEmpty } from '../support/links';
import { expectWellMade, linkIn, tokenOf, partsOf } from '../support/mail-parts';
import { type ReceivedMail } from '../support/mailbox';
import { until } from '../support/until';
import { password, TestService } from '../support/service';

/** 1337 × 1337, which appears in no mail otherwise. */
const evaluated = '1787569';
const payloads = [
  '{{1337*1337}}',
  '{{{1337*1337}}}',
  '${1337*1337}',
  '#{1337*1337}',
  '<%= 1337*1337 %>',
  '{{#with "s" as |x|}}{{lookup x "constructor"}}{{/with}}',
  '<a href=//evil.test>Set your password</a>',
  '<img src="https://evil.test/x.png">',
  'evil.test/reset now',
  'Your account is locked, call +43 666, https://evil.test',
  '=?utf-8?q?evil.test?=',
  '{link} {token} {hours} {minutes}',
];

describe('mails', () => {
  describe('sent by SMTP', () => {
    let service: TestService;
    beforeAll(async () => {
      service = await TestService.start({
        PUBLIC_URL: 'https://identity.example.net',
        RESET_PAGE_URL: 'https://portal.example.net/welcome/{token}#form',
        PORTAL_URL: 'https://portal.example.net/start',
        PRODUCT_NAME: 'Acme "Portal" & Co',
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
      expect(mail.headers).toMatch(/^List-ID: "Acme \\"Portal\\" & Co" <mails.identity.example.net>\r?$/im);
      expect(mail.html).toContain(subject);
      expect(mail.html).toContain('Acme &quot;Portal&quot; &amp; Co');
      expect(mail.html).toContain('<a href="https://portal.example.net/start"');
      expect(mail.html).toContain('>portal.example.net/welcome/…</a>');
      expect(mail.text).toContain(`${language === 'de' ? 'Anmeldename' : 'Login name'}: ${user.name}`);
      expect(mail.text).toContain('Carrier: c1');
      expectWellMade(mail, language, `https://portal.example.net/welcome/${tokenOf(mail.text)}#form`);
      expect(token).toBeNull();
      expect((await service.post(`/auth/reset/${tokenOf(mail.text)}`, { body: { password } })).status).toBe(204);
    });

    it('sends no notice of the first password of an invited user', async () => {
      const user = await service.createUser({ password: undefined, must_change_password: undefined });
      const { source } = await service.mailbox.take(user.email);
      await service.post(`/auth/reset/${tokenOf(partsOf(source).text)}`, { body: { password } });
      expect((await service.login(user.email)).user_id).toBe(user.user_id);
      await queueEmpty(service);
      expect(service.mailbox.mails.filter(({ to }) => to.includes(user.email))).toEqual([]);
    });

    it('states time, address and device of a change in security mails (R24, E3)', async () => {
      const browser = 'Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0';
      const origin = { ip: '192.0.2.7', headers: { 'user-agent': browser } };
      const user = await service.loginAs({ locale: 'de', timezone: 'Europe/Vienna' });
      const changed = { current_password: password, new_password: 'a different long phrase' };
      await service.post('/auth/password', { token: user.token, body: changed, ...origin });
      const notice = partsOf((await service.mailbox.take(user.email)).source);
      expectWellMade(notice, 'de', linkIn(notice.text));
      expect(notice.text).toMatch(/^Zeitpunkt: \d+\. \S+ \d{4} um \d\d:\d\d:\d\d (MEZ|MESZ)\r?$/m);
      expect(notice.text).toMatch(/^IP-Adresse: 192\.0\.2\.7\r?\nGerät: Firefox 131, Linux\r?$/m);
      const body = { email: `own-${user.email}`, current_password: changed.new_password };
      await service.post('/auth/email', { token: user.token, body, ...origin });
      const proposed = partsOf((await service.mailbox.take(user.email)).source);
      expectWellMade(proposed, 'de', linkIn(proposed.text));
      expect(proposed.text).toContain('IP-Adresse: 192.0.2.7');
      await service.patch(`/user/${user.user_id}`, {
        token: service.admin.token,
        body: { email: `by-${user.email}` },
        ...origin,
      });
      const byOther = partsOf((await service.mailbox.take(user.email)).source);
      expectWellMade(byOther, 'de');
      expect(byOther.text).toContain('Geändert durch: Ihre Administration');
      // An administrator's address is not shown to users.
      expect(byOther.text + byOther.html).not.toMatch(/192\.0\.2\.7|Firefox/);
    });
  });

  describe('with texts of users', () => {
    let service: TestService;
    beforeAll(async () => {
      service = await TestService.start({ PUBLIC_URL: 'https://identity.example.net' });
    });
    afterAll(() => service.close());

    /**
     * Triggers every mail about a user: invitation, reset, new password, and proposed address (to
     * both).
     */
    async function allMails(fields: Record<string, unknown>, index: number): Promise<ReceivedMail[]> {
      const email = `victim${index}@example.com`;
      const { token } = service.admin;
      const body = {
        user_type: 'carrier',
        carrier_id: 'c1',
        name: `victim${index}`,
        email,
        attributes: { k: fields['first_name'] },
        ...fields,
      };
      const created = await service.post('/user/create', {
        token,
        body,
        headers: { 'user-agent': String(fields['first_name']) },
      });
      expect(created.status).toBe(201);
      const invitation = await service.mailbox.take(email);
      expect(await service.post(`/auth/reset/${invitation.token}`, { body: { password } })).toMatchObject({
        status: 204,
      });
      expect(await service.post('/auth/reset_email', { body: { email } })).toMatchObject({ status: 202 });
      const reset = await service.mailbox.take(email);
      const headers = { 'user-agent': String(fields['first_name']) };
      expect(
        await service.post(`/auth/reset/${reset.token}`, { body: { password: `new ${password}` }, headers }),
      ).toMatchObject({ status: 204 });
      const set = await service.mailbox.take(email);
      expect(
        await service.patch(`/user/${created.body.user_id}`, { token, body: { email: `new-${email}` } }),
      ).toMatchObject({ status: 200 });
      return [invitation, reset, set, await service.mailbox.take(`new-${email}`), await service.mailbox.take(email)];
    }

    it('contains nothing of names with markup, templates and links (I16, I17)', async () => {
      const people = payloads
        .filter((_payload, index) => index % 2 === 0)
        .map((first_name, index) => ({ first_name, last_name: payloads[index * 2 + 1] }));
      const mails = await Promise.all(
        people.map((names, index) => allMails({ ...names, locale: index % 2 === 0 ? 'en' : 'de' }, index)),
      );
      expect(mails.flat()).toHaveLength(people.length * 5);
      for (const mail of mails.flat()) {
        const text = decoded(mail.source);
        expect(text).not.toContain(evaluated);
        expect(text).not.toContain('evil');
        expect(text).not.toMatch(/\{\{|\$\{|<%|\{link\}|\{token\}|\[object|undefined/);
        const links = [...text.matchAll(/(?:https?:)?\/\/[^\s"'<>/?#]+/g)].map(([link]) => link);
        expect(links.length).toBeGreaterThan(0);
        expect(new Set(links)).toEqual(new Set(['https://identity.example.net']));
      }
    });

    it('offers no link to a login name, carrier or user agent that looks like an address (I17)', async () => {
      const names = { name: 'www.evil.test', carrier_id: 'ftp.evil.test', first_name: 'evil.test/9 (evil.test)' };
      const mails = await allMails(names, 99);
      for (const { source } of mails) {
        const [text = '', html = ''] = Buffer.from(decoded(source), 'latin1').toString().split('<html ');
        expect(text).toContain('www.\u200cevil.\u200ctest');
        expect(text).not.toMatch(/evil\.test/);
        expect(html).toContain('www.evil.test');
        // Mail programs turn no part of a link into another link.
        const own = '<a href="https://identity.example.net/" style="color: inherit; text-decoration: none;">';
        for (const value of ['www.evil.test', 'ftp.evil.test']) expect(html).toContain(`${own}${value}</a>`);
        expect(html.replaceAll(new RegExp(`${own}[^<]*</a>`, 'g'), '')).not.toContain('evil');
      }
    });

    it('delivers to an address that looks like a template unchanged (I16)', async () => {
      for (const local of ['{{1337*1337}}', '${1337*1337}', '{token}', '`id`', "o'neil", 'a+{{x}}']) {
        const email = `${local}@example.com`;
        await service.createUser({ email, password: undefined, must_change_password: undefined });
        const mail = await service.mailbox.take(email);
        expect(mail.to).toEqual([email]);
        expect(decoded(mail.source)).not.toContain(evaluated);
        expect(mail.token).not.toBeNull();
      }
    });

    it('rejects an address with line breaks, angle brackets, lists or a display name (I17)', async () => {
      const mean = [
        'a@example.com\r\nBcc: evil@evil.test',
        'a@example.com\nSubject: x',
        'a@example.com,evil@evil.test',
        'a@example.com;evil@evil.test',
        '<a@example.com>',
        'Ada <a@example.com>',
        '"a b"@example.com',
        'a@example.com (x)',
        'a@example.com>\r\nRCPT TO:<evil@evil.test',
        'a\u2028b@example.com',
        'a@[127.0.0.1]',
        '@evil.test:a@example.com',
      ];
      for (const email of mean) {
        const answer = await service.post('/user/create', {
          token: service.admin.token,
          body: { user_type: 'carrier', carrier_id: 'c1', name: 'mean', email },
        });
        expect([email, answer.status, answer.body.errors?.[0].pointer]).toEqual([email, 400, '/email']);
        expect([email, (await service.post('/auth/reset_email', { body: { email } })).status]).toEqual([email, 400]);
      }
      expect(service.mailbox.mails).toEqual([]);
    });
  });

  describe('without a mail server', () => {
    let service: TestService;
    let outbox: string;
    beforeAll(async () => {
      service = await TestService.start({ SMTP_URL: '' });
      outbox = join(service.dataDir, 'outbox');
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
      await service.post('/auth/reset_email', { body: { email: user.email } });
      await until(async () => filesIn(outbox).some((name) => name.includes('-reset-')));
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

/** Decodes the parts and header words of a message. */
function decoded(source: string): string {
  const parts = source
    .split(/\r\n\r\n/)
    .map((part) => (/^[A-Za-z0-9+/=\r\n]{40,}$/.test(part) ? Buffer.from(part, 'base64').toString() : part));
  const bytes = parts
    .join('\n\n')
    .replace(/=([0-9A-F]{2})/g, (_match, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return bytes.replace(/<!doctype[^>]*>/gi, '');
}
