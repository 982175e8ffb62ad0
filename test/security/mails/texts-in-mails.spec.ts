import { type ReceivedMail } from '../../support/mailbox';
import { password, TestService } from '../../support/service';

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

describe('user input in mails', () => {
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
