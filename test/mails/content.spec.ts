import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Actor } from '../../src/access/actor';
import type { SecurityMailsService } from '../../src/users/mails/security-mails.service';
import { codeAt, currentStep, forgetSteps } from '../support/logins/factors';
import { endMailLimits, queueEmpty } from '../support/data/links';
import { expectWellMade, linkIn, type MailParts, partsOf, tokenOf } from '../support/network/mail-parts';
import type { ReceivedMail } from '../support/network/mailbox';
import { Authenticator, firstStep } from '../support/logins/second-factors';
import { password, TestService } from '../support/service';
import { until } from '../support/until';

const portal = 'https://portal.example.net/start';
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0';
const caller = { ip: '192.0.2.7', user_agent: firefox };
const origin = { ip: caller.ip, headers: { 'user-agent': firefox } };
const [home, away] = ['192.0.2.1', '198.51.100.1'];
const attacks = [
  '<img src="https://evil.test/x.png"><script>alert(1)</script>',
  '{{1337*1337}} ${1337*1337} {code} {duration}',
  'Firefox/131.0 evil.test/reset call +43 666',
  'Mozilla/5.0 (evil.test) Gecko/20100101 evil.test/1.0',
  '=?utf-8?q?evil.test?= Bcc: evil@evil.test',
];
/** Parts of the attacks, and 1337 × 1337. */
const attacked = /evil|1787569|1337|alert|Bcc|\+43/;
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

/** Mails to users about their account. */
describe('mails', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start({
      PUBLIC_URL: 'https://identity.example.net',
      RESET_PAGE_URL: 'https://portal.example.net/welcome/{token}#form',
      PORTAL_URL: portal,
      PRODUCT_NAME: 'Acme "Portal" & Co',
      MAIL_FROM: 'Carrier <identity@example.net>',
    });
  });
  afterAll(() => service.close());
  beforeEach(() => endMailLimits(service));

  const setPassword = async ({ source }: ReceivedMail, agent = firefox) => {
    const body = { password: `${password} ${agent.length}` };
    const path = `/auth/reset/${tokenOf(partsOf(source).text)}`;
    expect((await service.post(path, { body, headers: { 'user-agent': agent } })).status).toBe(204);
  };
  const mails = () => service.inside<SecurityMailsService>('SecurityMailsService');
  const actorOf = (user_id: string) => ({ actor_type: 'user', user_id, ...caller }) as Actor;
  const take = async (email: string, subject = ''): Promise<MailParts> =>
    partsOf((await service.mailbox.take(email, new RegExp(`Subject: ${subject}`))).source);
  const received = (email: string) => service.mailbox.mails.filter(({ to }) => to.includes(email));
  /** Returns the mails to a user, after all have been sent. */
  const mailsTo = async (email: string) => {
    await queueEmpty(service);
    return received(email);
  };

  it.each([
    ['de-AT', 'de', 'Einladung'],
    ['DE', 'de', 'Einladung'],
    ['fr-FR', 'en', 'Your invitation'],
    [null, 'en', 'Your invitation'],
  ])('sends text and HTML in the language of the user: %s (R24)', async (locale, language, subject) => {
    const user = await service.inviteUser({ locale });
    const { source } = await service.mailbox.take(user.email);
    const mail = partsOf(source);
    expect(mail.headers).toMatch(/^From: Carrier <identity@example.net>$/m);
    expect(mail.headers).toMatch(/^List-ID: "Acme \\"Portal\\" & Co" <mails.identity.example.net>\r?$/im);
    for (const part of [
      subject,
      'Acme &quot;Portal&quot; &amp; Co',
      `<a href="${portal}"`,
      '>portal.example.net/welcome/…</a>',
    ])
      expect(mail.html).toContain(part);
    expect(mail.text).toContain(`${language === 'de' ? 'Anmeldename' : 'Login name'}: ${user.name}`);
    expect(mail.text).toContain('Carrier: c1');
    expectWellMade(mail, language, `https://portal.example.net/welcome/${tokenOf(mail.text)}#form`);
  });

  it('sends no notice of the first password of an invited user', async () => {
    const user = await service.inviteUser();
    await setPassword(await service.mailbox.take(user.email), '');
    expect((await service.login(user.email, `${password} 0`)).user_id).toBe(user.user_id);
    expect(await mailsTo(user.email)).toEqual([]);
  });

  it('states time, address and device of a change of the user, and none of an administrator (R24, E3)', async () => {
    const user = await service.loginAs({ locale: 'de', timezone: 'Europe/Vienna' });
    const changed = { current_password: password, new_password: 'a different long phrase' };
    await service.post('/auth/password', { token: user.token, body: changed, ...origin });
    const notice = await take(user.email);
    expectWellMade(notice, 'de', linkIn(notice.text));
    expect(notice.text).toMatch(/^Zeitpunkt: \d+\. \S+ \d{4} um \d\d:\d\d:\d\d (MEZ|MESZ)\r?$/m);
    expect(notice.text).toMatch(/^IP-Adresse: 192\.0\.2\.7\r?\nGerät: Firefox 131, Linux\r?$/m);
    const body = { email: `own-${user.email}`, current_password: changed.new_password };
    await service.post('/auth/email', { token: user.token, body, ...origin });
    const proposed = await take(user.email);
    expectWellMade(proposed, 'de', linkIn(proposed.text));
    expect(proposed.text).toContain('IP-Adresse: 192.0.2.7');
    const { token } = service.admin;
    await service.patch(`/user/${user.user_id}`, { token, body: { email: `by-${user.email}` }, ...origin });
    const byOther = await take(user.email);
    expectWellMade(byOther, 'de');
    expect(byOther.text).toContain('Geändert durch: Ihre Administration');
    expect(byOther.text + byOther.html).not.toMatch(/192\.0\.2\.7|Firefox/);
  });

  /** Triggers the mails about an invitation, a reset, a new password and a proposed address. */
  async function allMails(fields: Record<string, unknown>, index: number): Promise<ReceivedMail[]> {
    const email = `victim${index}@example.com`;
    const attributes = { k: fields['first_name'] };
    const { user_id } = await service.inviteUser({ name: `victim${index}`, email, attributes, ...fields });
    const invitation = await service.mailbox.take(email);
    await setPassword(invitation);
    await service.post('/auth/reset_email', { body: { email } });
    const reset = await service.mailbox.take(email);
    await setPassword(reset, String(fields['first_name']));
    const set = await service.mailbox.take(email);
    const body = { email: `new-${email}` };
    expect((await service.patch(`/user/${user_id}`, { ...service.admin, body })).status).toBe(200);
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
    for (const { source } of mails.flat()) {
      const text = Object.values(partsOf(source))
        .join('\n')
        .replace(/<!doctype[^>]*>/i, '');
      expect(text).not.toContain(evaluated);
      expect(text).not.toContain('evil');
      expect(text).not.toMatch(/\{\{|\$\{|<%|\{link\}|\{token\}|\[object|undefined/);
      const links = [...text.matchAll(/(?:https?:)?\/\/[^\s"'<>/?#]+/g)].map(([link]) => link);
      expect(links.length).toBeGreaterThan(0);
      for (const link of links) expect(['https://identity.example.net', 'https://portal.example.net']).toContain(link);
    }
  });

  it('offers no link to a login name, carrier or user agent that looks like an address (I17)', async () => {
    const names = { name: 'www.evil.test', carrier_id: 'ftp.evil.test', first_name: 'evil.test/9 (evil.test)' };
    const mails = await allMails(names, 99);
    for (const { text, html } of mails.map(({ source }) => partsOf(source))) {
      expect(text).toContain('www.\u200cevil.\u200ctest');
      expect(text).not.toMatch(/evil\.test/);
      expect(html).toContain('www.evil.test');
      // Mail programs turn no part of a link into another link.
      const own = `<a href="${portal}" style="color: inherit; text-decoration: none;">`;
      for (const value of ['www.evil.test', 'ftp.evil.test']) expect(html).toContain(`${own}${value}</a>`);
      expect(html.replaceAll(new RegExp(`${own}[^<]*</a>`, 'g'), '')).not.toContain('evil');
    }
  });

  it('delivers to an address that looks like a template unchanged (I16)', async () => {
    for (const local of ['{{1337*1337}}', '${1337*1337}', '{token}', '`id`', "o'neil", 'a+{{x}}']) {
      const email = `${local}@example.com`;
      await service.inviteUser({ email });
      const mail = await service.mailbox.take(email);
      expect(mail.to).toEqual([email]);
      const { text, html } = partsOf(mail.source);
      expect(text + html).not.toContain(evaluated);
      expect(tokenOf(text)).not.toBe('');
    }
  });

  type Sender = ReturnType<typeof mails>;
  /** Mails by kind, each with the words that name it in both languages. */
  const notices: [kind: string, send: (to: Sender, user_id: string) => Promise<void>, en: string, de: string][] = [
    ['factor-enrolled', (to, id) => to.factorEnrolled(actorOf(id), id, 'totp'), 'was added', 'Authenticator-App'],
    [
      'factor-removed',
      (to, id) => to.factorRemoved(actorOf(id), id, 'passkey', randomUUID()),
      'was removed',
      'entfernt',
    ],
    ['recovery-code-used', (to, id) => to.recoveryCodeUsed(caller, id, 3), 'codes left: 3', 'codes: 3'],
    ['recovery-codes-low', (to, id) => to.recoveryCodeUsed(caller, id, 2), 'create new ones', 'erzeugen Sie neue'],
    ['recovery-codes-renewed', (to, id) => to.recoveryCodesRenewed(actorOf(id), id, 10), 'New recovery', 'Neue Wieder'],
    ['passkey-counter', (to, id) => to.passkeyCounterWentBack(caller, id), 'been copied', 'möglicherweise kopiert'],
    [
      'second-step-missing',
      (to, user_id) => to.secondStepsMissing([{ user_id, ...caller, created_at: new Date() }]),
      'The right password',
      'Das richtige Passwort',
    ],
    [
      'enrollment-code',
      async (to, id) => {
        await service.rows('insert into enrollment_codes (user_id) values ($1)', [id]);
        await to.enrollmentCode(caller, id);
      },
      'expires in 15 minutes',
      '15 Minuten',
    ],
    ['new-address-login', (to, id) => to.newAddressLogin(caller, id), 'a new address', 'einer neuen Adresse'],
  ];

  it.each(notices)('%s states time, address, device and what to do, in the language and zone', async (...notice) => {
    const [, send, en, de] = notice;
    const english = await service.createUser({ locale: 'en', timezone: 'Asia/Tokyo' });
    await send(mails(), english.user_id);
    const mail = await take(english.email);
    expectWellMade(mail, 'en', linkIn(mail.text));
    expectWords(mail, [en, `Login name: ${english.name}`]);
    expect(mail.text).toMatch(/\bIf\s(you|this)\s/);
    expect(mail.text).toMatch(/^Time: \d+ \S+ \d{4} at \d\d:\d\d:\d\d (GMT\+9|JST)\r?$/m);
    expect(mail.text).toMatch(/^IP address: 192\.0\.2\.7\r?\nDevice: Firefox 131, Linux\r?$/m);
    const german = await service.createUser({ locale: 'de-AT', timezone: 'Europe/Vienna' });
    await send(mails(), german.user_id);
    const post = await take(german.email);
    expectWellMade(post, 'de', linkIn(post.text));
    expectWords(post, [de]);
    expect(post.text).toMatch(/\bFalls\sSie\s/);
  });

  it('contains nothing of a user agent but known names (I17)', async () => {
    const { user_id, email } = await service.createUser();
    for (const user_agent of attacks) {
      await mails().recoveryCodeUsed({ ip: caller.ip, user_agent }, user_id, 9);
      const { source } = await service.mailbox.take(email);
      expect(source).not.toMatch(attacked);
      expect(partsOf(source).text).toContain('IP address: 192.0.2.7');
    }
  });

  it('omits the name of a factor, and the address of an administrator who removes it (I17)', async () => {
    const { token, user_id, email } = await service.loginAs();
    const name = attacks.join(' ').slice(0, 60);
    /** Enrols an authenticator app with the name. */
    const enrol = async () => {
      const { factor_id, secret } = (await service.post('/auth/factor/totp', { token, body: { name } })).body;
      await forgetSteps(service);
      const body = { factor_id, code: codeAt(secret, await currentStep(service)) };
      expect((await service.post('/auth/factor/totp/confirm', { token, body, ...origin })).status).toBe(200);
      return factor_id as string;
    };
    expect((await service.delete(`/auth/factor/${await enrol()}`, { token, ...origin })).status).toBe(204);
    await enrol();
    const reset = await service.delete(`/user/${user_id}/factor/all`, { token: service.admin.token, ...origin });
    expect(reset.status).toBe(204);
    const enrolled = await take(email, 'A second factor was added to your account');
    const removed = await take(email, 'A second factor was removed');
    const byOther = await take(email, 'The second factors of your account were');
    for (const mail of [enrolled, removed, byOther]) {
      expectWellMade(mail, 'en', linkIn(mail.text));
      expect(mail.headers + mail.text + mail.html).not.toMatch(attacked);
    }
    for (const { text } of [enrolled, removed])
      expect(text).toMatch(/^IP address: 192\.0\.2\.7\r?\nDevice: Firefox 131, Linux\r?$/m);
    expect(byOther.text).toContain('Changed by: an administrator');
    expect(byOther.text + byOther.html).not.toMatch(/192\.0\.2\.7|Firefox/);
  });

  it('mails a user about a copied passkey at most five times a day (E13)', async () => {
    const [user, other] = [await service.createUser(), await service.createUser()];
    for (let i = 0; i < 6; i++) await mails().passkeyCounterWentBack(caller, user.user_id);
    await mails().passkeyCounterWentBack(caller, other.user_id);
    expect(await mailsTo(user.email)).toHaveLength(5);
    expect(await mailsTo(other.email)).toHaveLength(1);
  });

  it('sends a mail for each change although the mail server was down, and none to a purged user (Z19)', async () => {
    const [user, gone] = [await service.createUser(), await service.createUser()];
    service.mailbox.rejects = true;
    for (const { user_id } of [user, gone]) {
      await mails().factorEnrolled(actorOf(user_id), user_id, 'totp');
      await mails().factorRemoved(actorOf(user_id), user_id, 'totp', randomUUID());
      await mails().factorRemoved(actorOf(user_id), user_id, 'passkey', randomUUID());
    }
    const jobs = (user_id: string, condition = 'true') =>
      service.rows(`select 1 from graphile_worker._private_jobs where payload ->> 'user_id' = $1 and ${condition}`, [
        user_id,
      ]);
    const failed = 'attempts > 0 and locked_at is null';
    await until(async () => (await jobs(user.user_id, failed)).length === 3);
    await until(async () => (await jobs(gone.user_id, failed)).length === 3);
    expect((await service.delete(`/user/${gone.user_id}?purge=true`, service.admin)).status).toBe(204);
    expect(await jobs(gone.user_id)).toEqual([]);
    service.mailbox.rejects = false;
    await service.rows('update graphile_worker._private_jobs set run_at = now()');
    const texts = [await take(user.email), await take(user.email), await take(user.email)].map(({ text }) => text);
    for (const subject of [/was added to/, /removed[^]*Authenticator app/, /removed[^]*Passkey/])
      expect(texts.filter((text) => subject.test(text))).toHaveLength(1);
    expect(received(gone.email)).toEqual([]);
  });

  it('sends no mail but that of a reset to a user who was disabled before it is sent (M5)', async () => {
    const { user_id, email } = await service.createUser();
    await service.rows(`update users set status = 'disabled' where user_id = $1`, [user_id]);
    await mails().newAddressLogin(caller, user_id);
    await mails().factorsReset(actorOf(service.admin.user_id), [user_id]);
    expect(await mailsTo(email)).toMatchObject([{ source: expect.stringMatching(/^Subject: The second factors/m) }]);
  });

  describe('of a login from a new address', () => {
    const login = async (name: string, ip: string, secret = password): Promise<number> => {
      const body = { login: name, password: secret };
      return (await service.post('/auth/login', { ...origin, body, ip })).status;
    };
    /** Creates a user who has logged in at home. */
    const user = async (fields: Record<string, unknown> = {}) => {
      const created = await service.createUser(fields);
      expect(await login(created.name, home)).toBe(200);
      return created;
    };

    it('is mailed with time, address and device, and the first login is not (R24)', async () => {
      const { name, email } = await user({ locale: 'de' });
      expect(await login(name, home)).toBe(200);
      expect(await mailsTo(email)).toEqual([]);
      expect(await login(name, away)).toBe(200);
      const [mail, ...others] = await mailsTo(email);
      expect(others).toEqual([]);
      const { text } = partsOf(mail?.source ?? '');
      expect(text).toMatch(/^IP-Adresse: 198\.51\.100\.1\r?\nGerät: Firefox 131, Linux\r?$/m);
      expect(await login(name, away)).toBe(200);
      expect(await mailsTo(email)).toHaveLength(1);
    });

    it('is mailed once for an IPv6 network, again after 30 days, and not for wrong passwords', async () => {
      const { name, email, user_id } = await user();
      expect(await login(name, '2001:db8:0:1::1')).toBe(200);
      expect(await login(name, '2001:db8:0:1:ffff::2')).toBe(200);
      expect(await login(name, away, 'a wrong password')).toBe(401);
      expect(await mailsTo(email)).toHaveLength(1);
      await service.rows('update login_attempts set known_until = now() where account = $1', [user_id]);
      expect(await login(name, home)).toBe(200);
      expect(await mailsTo(email)).toHaveLength(2);
      await service.rows('delete from login_attempts where account = $1', [user_id]);
      expect(await login(name, home)).toBe(200);
      expect(await mailsTo(email)).toHaveLength(3);
    });

    it('is mailed once if the same address logs in several times at once', async () => {
      const { name, email } = await user();
      const statuses = await Promise.all(Array.from({ length: 5 }, () => login(name, away)));
      expect(new Set(statuses)).toEqual(new Set([200]));
      expect(await mailsTo(email)).toHaveLength(1);
    });

    it('is mailed at most five times a day to a user (E13)', async () => {
      const [{ name, email }, other] = [await user(), await user()];
      for (let i = 1; i <= 6; i++) expect(await login(name, `203.0.113.${i}`)).toBe(200);
      expect(await mailsTo(email)).toHaveLength(5);
      expect(await login(other.name, away)).toBe(200);
      expect(await mailsTo(other.email)).toHaveLength(1);
    });

    it('is mailed after the second step, not after the first', async () => {
      const { name, email, user_id } = await user();
      const app = await Authenticator.enrol(service, user_id);
      const challenge = await firstStep(service, name, away);
      expect(await mailsTo(email)).toEqual([]);
      const second = await service.post('/auth/second-factor', { body: { challenge, code: app.code() }, ip: away });
      expect(second.status).toBe(200);
      expect(partsOf((await mailsTo(email))[0]?.source ?? '').text).toContain('IP address: 198.51.100.1');
    });

    it('with a recovery code is mailed with the number of codes that are left', async () => {
      const { name, email, user_id } = await user();
      const app = await Authenticator.enrol(service, user_id);
      const [first, second] = [await app.recoveryCode(), await app.recoveryCode(), await app.recoveryCode()];
      const use = async (recovery_code: string | undefined): Promise<string> => {
        const challenge = await firstStep(service, name, home);
        const body = { challenge, recovery_code };
        expect((await service.post('/auth/second-factor', { body, ip: home })).status).toBe(200);
        return partsOf((await service.mailbox.take(email, /recovery code/i)).source).text;
      };
      expect(await use(first)).toMatch(/At most two recovery codes are left[^]*Recovery codes left: 2\r?$/m);
      expect(await use(second)).toMatch(/Recovery codes left: 1\r?$/m);
    });
  });

  describe('of a right password without a second step', () => {
    /** Inserts the challenge of a login that began `age` ago. */
    const challenge = async (user_id: string, age: string, ip = caller.ip): Promise<void> => {
      await service.rows(
        `insert into login_challenges (challenge_hash, user_id, counter_address, ip, user_agent, created_at, expires_at)
         values ($1, $2, '', $3, $4, now() - $5::interval, now() - $5::interval + interval '5 minutes')`,
        [randomBytes(32), user_id, ip, firefox, age],
      );
    };
    const expire = async (): Promise<void> => {
      await service.rows(`select graphile_worker.add_job('expire-login-challenges', '{}')`);
      await queueEmpty(service);
    };
    const left = async (user_id: string): Promise<number> =>
      (await service.rows('select 1 from login_challenges where user_id = $1', [user_id])).length;

    it('is mailed with the time of the password, its address and device (R24)', async () => {
      const { user_id, email } = await service.createUser({ timezone: 'Asia/Tokyo' });
      await challenge(user_id, '90 minutes');
      const [row] = await service.rows<{ at: string }>(
        `select to_char(created_at at time zone 'Asia/Tokyo', 'HH24:MI:SS') as at
         from login_challenges where user_id = $1`,
        [user_id],
      );
      await expire();
      const { text } = partsOf((await service.mailbox.take(email)).source);
      expect(text).toMatch(new RegExp(`^Time: .* at ${row?.at} (GMT\\+9|JST)\r?$`, 'm'));
      expect(text).toMatch(/^IP address: 192\.0\.2\.7\r?\nDevice: Firefox 131, Linux\r?$/m);
      expect(await left(user_id)).toBe(0);
    });

    it('is mailed once a day, for more challenges than a batch holds (E13)', async () => {
      const { user_id, email } = await service.createUser();
      await service.rows(
        `insert into login_challenges (challenge_hash, user_id, counter_address, expires_at)
         select sha256(i::text::bytea), $1, '', now() - i * interval '1 second' from generate_series(1, 2500) i`,
        [user_id],
      );
      await expire();
      expect(await left(user_id)).toBe(0);
      await challenge(user_id, '6 minutes');
      await expire();
      expect(received(email)).toHaveLength(1);
      expect(partsOf(received(email)[0]?.source ?? '').text).toContain('IP address: unknown');
      await service.rows(`update rate_limits set ends_at = now() - interval '1 second'`);
      await challenge(user_id, '6 minutes');
      await expire();
      expect(received(email)).toHaveLength(2);
    });

    it('is mailed although the same password was used for a login from another address', async () => {
      const { user_id, email, name } = await service.createUser();
      await challenge(user_id, '6 minutes');
      await service.login(name);
      await expire();
      expect(received(email)).toHaveLength(1);
    });

    it('is not mailed if the challenge has not expired, or if the user logged in from its address', async () => {
      const [waiting, restarted] = [await service.createUser(), await service.createUser()];
      await challenge(waiting.user_id, '4 minutes');
      await challenge(restarted.user_id, '6 minutes', '127.0.0.1');
      await service.login(restarted.name);
      await expire();
      expect([await left(waiting.user_id), await left(restarted.user_id)]).toEqual([1, 0]);
      expect([...received(waiting.email), ...received(restarted.email)]).toEqual([]);
    });

    it('is mailed even if the attacker asks for many challenges or gets one rejected (R24, M3)', async () => {
      const [asking, guessing] = [await service.createUser(), await service.createUser()];
      const elsewhere = await service.createUser({ allowed_ips: ['192.0.2.0/24'] });
      const users = [asking, guessing, elsewhere];
      const app = await Authenticator.enrol(service, asking.user_id);
      for (const { user_id } of [guessing, elsewhere]) await Authenticator.enrol(service, user_id);
      for (let i = 0; i < 6; i++) await firstStep(service, asking.name, caller.ip);
      const wrong = { challenge: await firstStep(service, guessing.name, caller.ip), code: app.wrongCode() };
      for (let i = 0; i < 5; i++) expect((await service.post('/auth/second-factor', { body: wrong })).status).toBe(401);
      const body = { challenge: await firstStep(service, elsewhere.name, caller.ip), recovery_code: 'A'.repeat(24) };
      const rejected = await service.post('/auth/second-factor', { body, ip: '198.51.100.9' });
      expect(rejected.body.code).toBe('auth.challenge_invalid');
      await service.rows('update login_challenges set expires_at = now() where user_id = $1', [guessing.user_id]);
      await expire();
      expect(users.map(({ email }) => received(email).length)).toEqual([1, 1, 1]);
      expect([await left(asking.user_id), await left(elsewhere.user_id)]).toEqual([5, 0]);
    });
  });

  describe('without a mail server', () => {
    let service: TestService;
    let outbox: string;
    const files = () => (existsSync(outbox) ? readdirSync(outbox) : []);
    const content = () =>
      files()
        .map((name) => readFileSync(join(outbox, name), 'utf8'))
        .join('\n');
    beforeAll(async () => {
      service = await TestService.start({ SMTP_URL: '' });
      outbox = join(service.dataDir, 'outbox');
    });
    afterAll(() => service.close());

    it('writes an outbox that only its owner can read, without mails to reserved domains (R18, R21)', async () => {
      const unreachable = await service.inviteUser({ email: 'x@carrier-identity.invalid' });
      const user = await service.inviteUser({ locale: 'de' });
      await until(() => content().includes('</html>'));
      const [file = ''] = files();
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
      await until(() => files().some((name) => name.includes('-reset-')));
      expect(content()).not.toContain(unreachable.email);
    });
  });
});

/** Checks that both parts of a mail contain the words. The plain text lacks the subject. */
function expectWords({ text, html }: MailParts, words: string[]): void {
  const [, subject = ''] = /<title>(.*?)<\/title>/.exec(html) ?? [];
  const shown = html.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
  for (const word of words) expect(shown).toContain(word);
  for (const word of words.filter((one) => !subject.includes(one))) expect(text.replace(/\s+/g, ' ')).toContain(word);
}
