import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { queueEmpty } from '../../support/links';
import { expectWellMade, linkIn, tokenOf, partsOf } from '../../support/mail-parts';
import { until } from '../../support/until';
import { password, TestService } from '../../support/service';

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

    it('repeats nothing that a user chose but the login name and carrier (I17)', async () => {
      const words = {
        first_name: '<b>Win</b> https://evil.test',
        last_name: '{{token}}',
        attributes: { note: 'https://evil.test' },
      };
      const user = await service.loginAs(words);
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
