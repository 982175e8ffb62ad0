import { endMailLimits, queueEmpty } from '../../support/links';
import { password, TestService } from '../../support/service';

/** Malformed addresses, even if a mail server accepts them. */
const refused = [
  'a\uFF20example.com',
  'a\uFE6Bexample.com',
  'victim@example.com\uFF20example.org',
  'a@example.com@example.org',
  'a@b@example.org',
  '"a@example.com"@example.org',
  '"a"@example.org',
  '"a\\"b"@example.org',
  'a(comment)@example.org',
  'a@example.org(comment)',
  'a@(comment)example.org',
  'a@example.org(x@y.example)',
  'a@[127.0.0.1]',
  'a@[IPv6:::1]',
  'a@127.0.0.1',
  'a@0x7f.1',
  'a@2130706433',
  '=?utf-8?q?victim=40example=2Ecom?=@example.org=?x?=',
  '=?utf-7?q?a+AEA-example.com+ACA-?=@example.org foo',
  'a@example.org,b@example.org',
  'a@example.org, b@example.org',
  'a@example.org;b@example.org',
  'a@example.org b@example.org',
  'Group:a@example.org,b@example.org;',
  'Ada <a@example.org>',
  '<a@example.org>',
  'a@example.org\r\nBcc: x@example.org',
  'a@exam\r\nple.org',
  'a@exam\tple.org',
  'a\r\n@example.org',
  'a@example.org%0d%0aBcc:x',
  'a@exam%70le.org',
  'a%00@example.org\u0000',
  'a@example.org/evil.example',
  'a@example.org?evil.example',
  'a@example.org#evil.example',
  'a@example.org\\evil.example',
  'a@example.org:25',
  'a@example.org>',
  'a@example.org.',
  'a@.example.org',
  'a@example..org',
  'a@-example.org',
  'a@example',
  'a@example.123',
  '.a@example.org',
  'a.@example.org',
  'a..b@example.org',
  '@example.org',
  'a@',
  'adm\u0131n@example.org',
  'o\uFB03ce@example.org',
  'stra\u00DFe@example.org',
  '\u212Aelvin@example.org',
  'jose\u0301@example.org',
  'a\u200Bb@example.org',
  'a\u202Eb@example.org',
  `${'a'.repeat(65)}@example.org`,
  `a@${'a'.repeat(64)}.org`,
  `a@${'a.'.repeat(125)}org`,
  'a@xn--a.org',
  'a@xn--b\u00FCcher.example',
];

describe('one user per e-mail address', () => {
  let service: TestService;
  let count = 0;

  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const invite = (email: unknown) => {
    const body = { user_type: 'carrier', carrier_id: 'c1', name: `invited${++count}`, email };
    return service.post('/user/create', { token: service.admin.token, body });
  };

  it('creates exactly one user in 50 parallel creates of one address in any case (E6)', async () => {
    const variants = [
      'Race@Example.com',
      'race@example.com',
      'RACE@EXAMPLE.COM',
      'rAce@exAmple.com',
      ' race@example.com ',
    ];
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => invite(variants[index % variants.length])),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ body }) => body.code === 'user.email_taken')).toHaveLength(49);
    expect(await service.rows(`select 1 from users where lower(email) = 'race@example.com'`)).toHaveLength(1);
    expect(
      (await service.get('/user/list?email=RACE@example.com', { token: service.admin.token })).body.items,
    ).toHaveLength(1);
  });

  describe('similar addresses', () => {
    it.each([
      ['another case', 'Ada.L+Tag@Example.ORG', 'aDA.l+tAG@eXAMPLE.org'],
      ['a domain in Unicode and in A-labels', 'ada@b\u00FCcher.example', 'ada@XN--BCHER-KVA.example'],
      ['a decomposed domain', 'ada@caf\u00E9.example', 'ada@cafe\u0301.example'],
      ['a domain in full width', 'ada@full.example', 'ada@\uFF46\uFF55\uFF4C\uFF4C.example'],
      ['an ideographic full stop', 'ada@stop.example', 'ada@stop\u3002example'],
      ['a Kelvin sign in the domain', 'ada@kelvin.example', 'ada@\u212Aelvin.example'],
      ['invisible characters in the domain', 'ada@soft.example', 'ada@so\u00ADft.example'],
      ['spaces around', 'ada@space.example', '\u00A0 ada@space.example\u3000'],
    ])('treats addresses as equal that differ by %s (E7)', async (_name, first, second) => {
      expect((await invite(first)).status).toBe(201);
      expect((await invite(second)).body.code).toBe('user.email_taken');
    });

    it.each([
      ['a tag', 'bob+one@example.org', 'bob+two@example.org'],
      ['dots', 'bob.smith@example.org', 'bobsmith@example.org'],
      ['a sharp s in the domain', 'bob@stra\u00DFe.example', 'bob@strasse.example'],
      ['a Cyrillic letter in the domain', 'bob@apple.example', 'bob@\u0430pple.example'],
    ])(
      'treats addresses as different that differ by %s, and mails a reset to neither but its own (E7)',
      async (_name, first, second) => {
        expect((await invite(first)).status).toBe(201);
        await queueEmpty(service);
        service.mailbox.mails.splice(0);
        await endMailLimits(service);
        expect((await service.post('/auth/reset_email', { body: { email: second } })).status).toBe(202);
        await queueEmpty(service);
        expect(service.mailbox.mails).toEqual([]);
        expect((await invite(second)).status).toBe(201);
      },
    );

    it('mails the stored address, not the typed one (E7)', async () => {
      const user = await service.createUser({ email: 'Carol+Tag@B\u00FCcher.example' });
      expect(user.email).toBe('Carol+Tag@xn--bcher-kva.example');
      for (const typed of [
        'carol+tag@b\u00FCcher.example',
        'CAROL+TAG@XN--BCHER-KVA.EXAMPLE',
        ' Carol+Tag@bu\u0308cher.example ',
      ]) {
        await endMailLimits(service);
        await service.post('/auth/reset_email', { body: { email: typed } });
        // The mail server of the test shows domains in Unicode.
        const { to, source } = await service.mailbox.take('Carol+Tag@b\u00FCcher.example');
        expect(to).toHaveLength(1);
        expect(/^To: (.*)$/m.exec(source)?.[1]?.trim()).toBe(user.email);
      }
    });
  });

  it('rejects what is not an address wherever one is accepted, and sends no mail (E9)', async () => {
    const user = await service.loginAs();
    const administrator = service.admin.token;
    await queueEmpty(service);
    service.mailbox.mails.splice(0);
    for (const email of refused) {
      const answers = [
        await invite(email),
        await service.post('/auth/reset_email', { body: { email } }),
        await service.post('/auth/email', { token: user.token, body: { email, current_password: password } }),
        await service.patch(`/user/${user.user_id}`, { token: administrator, body: { email } }),
      ];
      expect([email, answers.map(({ status, body }) => `${status} ${body?.errors?.[0].pointer}`)]).toEqual([
        email,
        Array<string>(4).fill('400 /email'),
      ]);
    }
    await queueEmpty(service);
    expect(service.mailbox.mails).toEqual([]);
  });

  it('rejects further recipients or headers in an address (R18)', async () => {
    const { email } = await service.createUser();
    await queueEmpty(service);
    service.mailbox.mails.splice(0);
    const typed: unknown[] = [
      `${email}\r\nBcc: x@example.org`,
      `${email}%0d%0aBcc:x@example.org`,
      `${email}\u0000`,
      `${email},x@example.org`,
      [email, 'x@example.org'],
      [email],
      { address: email },
      `"x@y"@${email.split('@')[1]}`,
      `${email}(x@example.org)`,
      `x@example.org <${email}>`,
      null,
      true,
      0,
    ];
    for (const value of typed)
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
    const victim = await service.createUser();
    for (const name of [victim.email, victim.email.toUpperCase(), 'x@example.org', 'a\uFF20b.example', '@name']) {
      const body = { user_type: 'carrier', carrier_id: 'c1', name, email: `other${++count}@example.org` };
      const created = await service.post('/user/create', { token: service.admin.token, body });
      expect(created.body).toMatchObject({ status: 400, errors: [{ pointer: '/name' }] });
      const changed = await service.patch(`/user/${service.admin.user_id}`, {
        token: service.admin.token,
        body: { name },
      });
      expect(changed.body).toMatchObject({ status: 400, errors: [{ pointer: '/name' }] });
    }
    await service.createUser({ name: victim.email.replace('@', '-') });
    expect((await service.login(victim.email)).user_id).toBe(victim.user_id);
  });

  it.each([
    ['labels', `a@${'a.'.repeat(30_000)}a`],
    ['dots', `${'a.'.repeat(30_000)}@example.org`],
    ['brackets', '('.repeat(60_000)],
    ['quotes', '"'.repeat(30_000)],
    ['quoted pairs', '"\\"'.repeat(10_000) + '@example.org'],
    ['at signs', '@'.repeat(60_000)],
    ['hyphens', `a@${'-'.repeat(60_000)}.org`],
    ['wide letters', `a@${'\uFF41'.repeat(18_000)}.org`],
    ['A-labels', `a@${'xn--'.repeat(15_000)}.org`],
    ['spaces', `${' '.repeat(60_000)}a`],
  ])('rejects 60 kB of %s as an address at once (E12)', async (_name, email) => {
    const fastest = async (body: object) => {
      const times: number[] = [];
      for (let round = 0; round < 5; round++) {
        const start = performance.now();
        expect((await service.post('/auth/reset_email', { body })).status).toBe(400);
        times.push(performance.now() - start);
      }
      return Math.min(...times);
    };
    const usual = await fastest({ other: 'x'.repeat(email.length) });
    expect((await fastest({ email })) - usual).toBeLessThan(20);
  });
});
