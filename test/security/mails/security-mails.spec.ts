import type { Actor } from '../../../src/access/actor';
import { systemActor } from '../../../src/access/actor';
import { newId } from '../../../src/common/random';
import { SecurityMailsService } from '../../../src/user-mails/security-mails.service';
import { endMailLimits, queueEmpty } from '../../support/links';
import { expectWellMade, linkIn, type MailParts, partsOf } from '../../support/mail-parts';
import { TestService } from '../../support/service';
import { until } from '../../support/until';

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0';
const caller = { ip: '192.0.2.7', user_agent: firefox };
const attacks = [
  '<img src="https://evil.test/x.png"><script>alert(1)</script>',
  '{{1337*1337}} ${1337*1337}',
  'Firefox/131.0 evil.test/reset call +43 666',
  'Mozilla/5.0 (evil.test) Gecko/20100101 evil.test/1.0',
  '=?utf-8?q?evil.test?= Bcc: evil@evil.test',
];

describe('mails about second factors and logins', () => {
  let service: TestService;
  let mails: SecurityMailsService;
  beforeAll(async () => {
    service = await TestService.start();
    mails = service.app.get(SecurityMailsService, { strict: false });
  });
  afterAll(() => service.close());
  beforeEach(() => {
    service.mailbox.rejects = false;
  });

  const actorOf = (user_id: string): Actor => ({ ...systemActor, actor_type: 'user', user_id, ...caller });
  const take = async (email: string): Promise<MailParts> => partsOf((await service.mailbox.take(email)).source);
  const received = (email: string) => service.mailbox.mails.filter(({ to }) => to.includes(email));

  /** Mails that another user or a login causes, with the words of their texts in both languages. */
  type Notice = [kind: string, send: (user_id: string) => Promise<void>, en: string[], de: string[]];
  const notices: Notice[] = [
    [
      'factor-enrolled',
      (id) => mails.factorEnrolled(actorOf(id), id, 'totp'),
      ['A second factor was added', 'Second factor: Authenticator app', 'If you did not do this'],
      ['Zweiter Faktor hinzugefügt', 'Zweiter Faktor: Authenticator-App', 'Falls Sie das nicht waren'],
    ],
    [
      'factor-removed',
      (id) => mails.factorRemoved(actorOf(id), id, 'passkey', newId()),
      ['A second factor was removed', 'Second factor: Passkey', 'If you did not do this'],
      ['Zweiter Faktor entfernt', 'Zweiter Faktor: Passkey', 'Falls Sie das nicht waren'],
    ],
    [
      'recovery-code-used',
      (id) => mails.recoveryCodeUsed(caller, id, 3),
      ['A recovery code', 'Recovery codes left: 3', 'If you did not do this'],
      ['Wiederherstellungscode', 'Verbleibende Wiederherstellungscodes: 3', 'Falls Sie das nicht waren'],
    ],
    [
      'recovery-codes-low',
      (id) => mails.recoveryCodeUsed(caller, id, 2),
      ['create new ones', 'Recovery codes left: 2', 'If you did not use the recovery code'],
      ['erzeugen Sie neue', 'Verbleibende Wiederherstellungscodes: 2', 'Falls Sie den Code nicht verwendet haben'],
    ],
    [
      'recovery-codes-renewed',
      (id) => mails.recoveryCodesRenewed(actorOf(id), id, 10),
      ['New recovery codes were created', 'Recovery codes left: 10', 'If you did not do this'],
      ['Neue Wiederherstellungscodes', 'Verbleibende Wiederherstellungscodes: 10', 'Falls Sie das nicht waren'],
    ],
    [
      'passkey-counter',
      (id) => mails.passkeyCounterWentBack(caller, id),
      ['may have been copied', 'Second factor: Passkey', 'If you did not use the passkey'],
      ['möglicherweise kopiert', 'Zweiter Faktor: Passkey', 'Falls Sie den Passkey nicht verwendet haben'],
    ],
    [
      'second-step-missing',
      (user_id) => mails.secondStepsMissing([{ user_id, ...caller, created_at: new Date() }]),
      ['The right password', 'If this was not you'],
      ['Das richtige Passwort', 'Falls Sie das nicht waren'],
    ],
    [
      'new-address-login',
      (id) => mails.newAddressLogin(caller, id),
      ['Login from a new address', 'If this was not you'],
      ['Anmeldung von einer neuen Adresse', 'Falls Sie das nicht waren'],
    ],
  ];

  it.each(notices)('%s states time, address, device and what to do, in the language and zone', async (...notice) => {
    const [, send, en, de] = notice;
    const english = await service.createUser({ locale: 'en', timezone: 'Asia/Tokyo' });
    await send(english.user_id);
    const mail = await take(english.email);
    expectWellMade(mail, 'en', linkIn(mail.text));
    expectWords(mail, en);
    expect(mail.text).toMatch(/^Time: \d+ \S+ \d{4} at \d\d:\d\d:\d\d (GMT\+9|JST)\r?$/m);
    expect(mail.text).toMatch(/^IP address: 192\.0\.2\.7\r?\nDevice: Firefox 131, Linux\r?$/m);
    expect(mail.text).toContain(`Login name: ${english.name}`);
    const german = await service.createUser({ locale: 'de-AT', timezone: 'Europe/Vienna' });
    await send(german.user_id);
    const post = await take(german.email);
    expectWellMade(post, 'de', linkIn(post.text));
    expectWords(post, de);
    expect(post.text).toMatch(/^Zeitpunkt: \d+\. \S+ \d{4} um \d\d:\d\d:\d\d (MEZ|MESZ)\r?$/m);
    expect(post.text).toMatch(/^IP-Adresse: 192\.0\.2\.7\r?\nGerät: Firefox 131, Linux\r?$/m);
  });

  it('notifies all users of a reset, and hides the address of the administrator', async () => {
    const [first, second] = [await service.createUser(), await service.createUser({ locale: 'de' })];
    await mails.factorsReset(actorOf(service.admin.user_id), [first.user_id, second.user_id]);
    const [mail, post] = [await take(first.email), await take(second.email)];
    expectWellMade(mail, 'en', linkIn(mail.text));
    expectWords(mail, ['The second factors of your account were reset', 'Changed by: an administrator']);
    expectWellMade(post, 'de', linkIn(post.text));
    expectWords(post, ['Ihre zweiten Faktoren wurden zurückgesetzt', 'Geändert durch: Ihre Administration']);
    for (const { text, html } of [mail, post]) expect(text + html).not.toMatch(/192\.0\.2\.7|Firefox/);
  });

  it('sends a code of eight digits to a user who requested one, and stores no digits', async () => {
    const [english, german] = [await service.createUser(), await service.createUser({ locale: 'de' })];
    const none = await service.createUser();
    await service.rows('insert into enrollment_codes (user_id, wrong_codes) values ($1, 4), ($2, 0)', [
      english.user_id,
      german.user_id,
    ]);
    for (const { user_id } of [none, english, german]) await mails.enrollmentCode(caller, user_id);
    const [mail, post] = [await take(english.email), await take(german.email)];
    expectWellMade(mail, 'en', linkIn(mail.text));
    expectWords(mail, ['Your code to set up a second factor', 'expires in 15 minutes', 'If you did not log in']);
    expectWellMade(post, 'de', linkIn(post.text));
    expectWords(post, ['Ihr Code für den zweiten Faktor', '15 Minuten', 'Falls Sie sich nicht angemeldet haben']);
    const codes = [mail, post].map(({ text }) => /^\d{8}\r?$/m.exec(text)?.[0].trim() ?? '');
    expect(new Set([...codes, ''])).toHaveProperty('size', 3);
    const stored = await service.rows<{ row: string; current: boolean; wrong_codes: number }>(`
      select enrollment_codes::text || encode(code_hash, 'escape') as row, wrong_codes,
        expires_at between now() + interval '14 minutes' and now() + interval '15 minutes' as current
      from enrollment_codes`);
    expect(stored).toHaveLength(2);
    for (const { row, current, wrong_codes } of stored) {
      expect([current, wrong_codes]).toEqual([true, 0]);
      for (const code of codes) expect(row).not.toContain(code);
    }
    await queueEmpty(service);
    expect(received(none.email)).toEqual([]);
  });

  it.each(attacks)('contains no text of the user agent %s (I17)', async (user_agent) => {
    const { user_id, email } = await service.createUser();
    await mails.recoveryCodeUsed({ ip: caller.ip, user_agent }, user_id, 9);
    await mails.newAddressLogin({ ip: caller.ip, user_agent }, user_id);
    for (const subject of [/Subject: A recovery code/, /Subject: Login/]) {
      const { source } = await service.mailbox.take(email, subject);
      expect(source).not.toMatch(/evil|1787569|1337|alert|Bcc|\+43/);
      expect(partsOf(source).text).toContain('IP address: 192.0.2.7');
    }
  });

  it('limits the mails that another person can trigger, per user and kind (E13)', async () => {
    await endMailLimits(service);
    const [user, other] = [await service.createUser(), await service.createUser()];
    for (let i = 0; i < 20; i++) {
      await mails.newAddressLogin({ ...caller, ip: `198.51.100.${i}` }, user.user_id);
      await mails.passkeyCounterWentBack(caller, user.user_id);
      await mails.secondStepsMissing([{ user_id: user.user_id, ...caller, created_at: new Date() }]);
    }
    await mails.newAddressLogin(caller, other.user_id);
    await queueEmpty(service);
    const counts = [/Subject: Login from a new/, /Subject: A passkey/, /Subject: A login/].map(
      (subject) => received(user.email).filter(({ source }) => subject.test(source)).length,
    );
    expect(counts).toEqual([5, 5, 1]);
    expect(received(other.email)).toHaveLength(1);
    await service.rows(`update rate_limits set ends_at = now() - interval '1 second'`);
    await mails.secondStepsMissing([{ user_id: user.user_id, ...caller, created_at: new Date() }]);
    await queueEmpty(service);
    expect(received(user.email)).toHaveLength(12);
  });

  it('sends a mail for each change although the mail server was down, and none to a purged user (Z19)', async () => {
    const [user, gone] = [await service.createUser(), await service.createUser()];
    service.mailbox.rejects = true;
    for (const { user_id } of [user, gone]) {
      await mails.factorEnrolled(actorOf(user_id), user_id, 'totp');
      await mails.factorRemoved(actorOf(user_id), user_id, 'totp', newId());
      await mails.factorRemoved(actorOf(user_id), user_id, 'passkey', newId());
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
    await mails.newAddressLogin(caller, user_id);
    await mails.factorsReset(actorOf(service.admin.user_id), [user_id]);
    await queueEmpty(service);
    expect(received(email)).toMatchObject([{ source: expect.stringMatching(/^Subject: The second factors/m) }]);
  });
});

/** Checks that both parts of a mail contain the words. The plain text lacks the subject. */
function expectWords({ text, html }: MailParts, words: string[]): void {
  const [, subject = ''] = /<title>(.*?)<\/title>/.exec(html) ?? [];
  const shown = html.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
  for (const word of words) expect(shown).toContain(word);
  for (const word of words.filter((one) => !subject.includes(one))) expect(text.replace(/\s+/g, ' ')).toContain(word);
}
