import { connect } from 'node:net';
import type { MailerService } from '@nestjs-modules/mailer';
import { startServiceProcess } from '../support/built-program';
import { endMailLimits, mailedResetToken, queueEmpty, visibleResponse } from '../support/links';
import { Mailbox, type ReceivedMail } from '../support/mailbox';
import { password, type TestAnswer, TestService } from '../support/service';
import { until } from '../support/until';

const base = 'https://identity.example.net';
const accepted = /^HTTP\/1\.1 202 /;
const twoHosts = /^HTTP\/1\.1 400 [^]*application\/problem\+json[^]*"parameter":"Host"/;
const nowhere = /^HTTP\/1\.1 404 [^]*application\/problem\+json[^]*"code":"request.not_found"/;

describe('requests for a reset link', () => {
  let service: TestService;
  let known: string;
  /** gets the mails that are rendered and discarded, once a test says so */
  const discards = new Mailbox();
  beforeAll(async () => {
    await discards.start();
    service = await TestService.start({ PUBLIC_URL: base });
    known = (await service.createUser()).email;
  });
  beforeEach(() => endMailLimits(service));
  afterAll(async () => {
    await service.close();
    await discards.stop();
  });

  /** Makes waiting mails due now, instead of after the back-off. */
  const tryAgain = () =>
    service.rows('update graphile_worker._private_jobs set run_at = now() where locked_at is null');
  const ask = (email: string) => service.post('/auth/reset_email', { body: { email } });

  it('returns the same response for known, unknown, disabled, deleted, locked and invited users (R4)', async () => {
    const { token } = service.admin;
    const disabled = await service.createUser();
    await service.patch(`/user/${disabled.user_id}`, { token, body: { status: 'disabled' } });
    const deleted = await service.createUser();
    await service.delete(`/user/${deleted.user_id}`, { token });
    const locked = await service.createUser();
    await service.rows(`update users set locked_until = now() + interval '1 hour' where user_id = $1`, [
      locked.user_id,
    ]);
    const invited = await service.createUser({ password: undefined, must_change_password: undefined });
    await service.mailbox.take(invited.email);
    const system = await service.createUser({ user_type: 'system' });
    await endMailLimits(service);

    const unknown = 'unknown@example.com';
    const answer = await ask(unknown);
    expect(answer).toMatchObject({ status: 202, text: '{}' });
    for (const email of [known, disabled.email, deleted.email, locked.email, invited.email, system.email])
      expect(visibleResponse(await ask(email))).toEqual(visibleResponse(answer));
    await queueEmpty(service);
    const mailed = service.mailbox.mails
      .splice(0)
      .map(({ to: [to], source }) => `${to} ${/^Subject: (.*)$/m.exec(source)?.[1]}`);
    expect(mailed.sort()).toEqual(
      [
        `${known} Set a new password`,
        `${locked.email} Set a new password`,
        `${system.email} Set a new password`,
        `${invited.email} Your invitation`,
      ].sort(),
    );
  });

  it('responds without a look at any user, so that the time reveals none (R5)', async () => {
    const other = await service.sql.connect();
    try {
      await other.query('begin');
      await other.query('lock table users, user_search, user_logins in access exclusive mode');
      // The lookup of a user would wait for the lock.
      for (const email of [known, 'unknown@example.com']) expect((await ask(email)).status).toBe(202);
      const lookups = `select 1 from graphile_worker._private_jobs where payload ->> 'email' is not null`;
      expect((await other.query(lookups)).rows).toHaveLength(2);
    } finally {
      await other.query('rollback');
      other.release();
    }
    // A lookup that waited too long for the lock runs again.
    await until(async () => {
      await tryAgain();
      return service.mailbox.mails.some(({ to }) => to.includes(known));
    });
    await queueEmpty(service);
    service.mailbox.mails.splice(0);
  });

  describe('in the background', () => {
    it('handles requests at a random moment of three seconds (L31)', async () => {
      await service.rows(`
        create table delays (email text, delay float8);
        create function note_delay() returns trigger language plpgsql as
          'begin
             insert into delays values (new.payload ->> ''email'', extract(epoch from new.run_at - now()));
             return new;
           end';
        create trigger note_delay before insert on graphile_worker._private_jobs
          for each row when (new.payload ->> 'email' is not null) execute function note_delay()`);
      // Without the changes of the test service, which delays no request.
      const { DATABASE_URL, APP_SECRET, PUBLIC_URL, SMTP_URL } = service.config;
      const limits = { LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '0', REQUESTS_PER_ADDRESS_PER_MINUTE: '0' };
      const plain = await startServiceProcess({ DATABASE_URL, APP_SECRET, PUBLIC_URL, SMTP_URL, ...limits });
      try {
        for (let count = 0; count < 20; count++) {
          const body = JSON.stringify({ email: count % 2 === 0 ? known : `${count}@example.com` });
          const headers = { 'content-type': 'application/json' };
          await fetch(`${plain.url}/auth/reset_email`, { method: 'POST', headers, body });
        }
      } finally {
        await plain.stop();
      }
      const delays = (await service.rows<{ delay: number }>('select delay from delays order by delay')).map(
        ({ delay }) => delay,
      );
      expect(delays).toHaveLength(20);
      expect(delays.at(-1)).toBeLessThanOrEqual(3.1);
      // The probability that 20 random delays of 3 s are within 0.6 s is 10⁻¹².
      expect((delays.at(-1) ?? 0) - (delays[0] ?? 0)).toBeGreaterThan(0.6);
      await service.rows('drop trigger note_delay on graphile_worker._private_jobs');
      await service.rows('update graphile_worker._private_jobs set run_at = now() where run_at > now()');
      await queueEmpty(service);
      service.mailbox.mails.splice(0);
    });

    it('mails the links before the invitations of an import that are due (B31)', async () => {
      await service.rows(`
        create table ended (place serial, mail text);
        create function hold_job() returns trigger language plpgsql as
          'begin new.run_at := now() + interval ''1 hour''; return new; end';
        create function note_end() returns trigger language plpgsql as
          'begin insert into ended (mail) values (old.payload ->> ''mail''); return null; end';
        create trigger hold_job before insert on graphile_worker._private_jobs
          for each row execute function hold_job();
        create trigger note_end after delete on graphile_worker._private_jobs
          for each row execute function note_end()`);
      const rows = Array.from({ length: 60 }, (_, index) =>
        JSON.stringify({
          user_type: 'carrier',
          carrier_id: 'c1',
          name: `new${index}`,
          email: `new${index}@example.com`,
        }),
      );
      const headers = { 'content-type': 'application/x-ndjson' };
      const { token } = service.admin;
      const imported = await service.post('/user/import?invite=true', { token, headers, body: rows.join('\n') });
      expect(imported.body.changed).toBe(60);
      await ask(known);
      await service.rows(`
        drop trigger hold_job on graphile_worker._private_jobs;
        update graphile_worker._private_jobs
        set run_at = now() - case payload ->> 'mail' when 'invitation' then 60 else 0 end * interval '1 second'`);
      await queueEmpty(service);
      const ended = (await service.rows<{ mail: string }>('select mail from ended order by place')).map(
        ({ mail }) => mail,
      );
      expect(ended.filter((mail) => mail === 'invitation')).toHaveLength(60);
      expect(ended).toContain('reset');
      expect(ended.lastIndexOf('invitation')).toBeGreaterThan(ended.indexOf('reset'));
      await service.rows('drop trigger note_end on graphile_worker._private_jobs');
      service.mailbox.mails.splice(0);
    });

    it('renders, but never sends, a mail for unknown and disabled users and beyond a limit (L31)', async () => {
      await service.inside<MailerService>('MailerService').addTransporter('discarded', discards.url);
      const { user_id, email: disabled } = await service.createUser();
      await service.patch(`/user/${user_id}`, { token: service.admin.token, body: { status: 'disabled' } });
      for (const email of ['unknown@example.com', disabled, known, known]) await ask(email);
      await queueEmpty(service);
      expect(service.mailbox.mails.splice(0).map(({ to }) => to)).toEqual([[known]]);
      await until(() => discards.mails.length >= 3);
      for (const { to, source } of discards.mails.splice(0)) {
        expect(to).toEqual(['nobody@x.invalid']);
        expect(source).toContain('Subject: Set a new password');
      }
    });

    it('renders no mails for unknown addresses beyond 20 per second, but mails all links (L31)', async () => {
      const requests = 1_000;
      await service.rows(`
        create function hold() returns trigger language plpgsql as
          'begin new.run_at := now() + interval ''1 hour''; return new; end';
        create trigger hold before insert on graphile_worker._private_jobs for each row execute function hold()`);
      await ask('unknown@example.com');
      await service.rows('drop trigger hold on graphile_worker._private_jobs');
      await service.rows(
        `
          insert into graphile_worker._private_jobs (task_id, payload)
          select task_id, payload from graphile_worker._private_jobs, generate_series(1, $1)
          where payload ->> 'email' = 'unknown@example.com'`,
        [requests],
      );
      await ask(known);
      await service.mailbox.take(known, /Subject: Set a new password/);
      await queueEmpty(service);
      expect(discards.mails.splice(0).length).toBeLessThan(requests);
      await service.rows(`delete from graphile_worker._private_jobs where run_at > now()`);
    });
  });

  describe('with a failing mail server', () => {
    const triedInVain = async () =>
      (await service.rows('select 1 from graphile_worker._private_jobs where attempts > 0 and last_error is not null'))
        .length > 0;

    async function expectSameResponse(): Promise<void> {
      const answer = await ask('unknown@example.com');
      expect(visibleResponse(await ask(known))).toEqual(visibleResponse(answer));
      expect(answer.status).toBe(202);
      await until(triedInVain);
      expect(visibleResponse(await ask(known))).toEqual(visibleResponse(answer));
    }

    async function expectDelivered(): Promise<void> {
      await tryAgain();
      const { token } = await service.mailbox.take(known);
      expect((await service.get(`/auth/reset/${token}`)).status).toBe(200);
      await queueEmpty(service);
      expect(service.mailbox.mails).toEqual([]);
    }

    it('returns the same response while the mail server is down, and delivers the mail later (R6, F9)', async () => {
      await service.mailbox.stop();
      await expectSameResponse();
      const queued = await service.rows<{ job: string }>(
        'select jobs::text as job from graphile_worker._private_jobs jobs',
      );
      expect(queued.map(({ job }) => job).join()).not.toMatch(/[A-Za-z0-9_-]{43}/);
      await service.mailbox.start();
      await expectDelivered();
    });

    it('returns the same response while the mail server rejects recipients (R6, F10)', async () => {
      service.mailbox.unknown.add(known);
      await expectSameResponse();
      service.mailbox.unknown.delete(known);
      await expectDelivered();
      expect((await service.login(known, password)).token).toBeTruthy();
    });
  });

  describe('contain links of the configuration only', () => {
    /** Sends raw bytes and returns the raw response. */
    function exchange(...head: string[]): Promise<string> {
      const body = JSON.stringify({ email: known });
      const lines = [
        ...head,
        'Content-Type: application/json',
        `Content-Length: ${body.length}`,
        'Connection: close',
        '',
        body,
      ];
      return new Promise((resolve, reject) => {
        const socket = connect(service.port, '127.0.0.1', () => socket.write(lines.join('\r\n')));
        let answer = '';
        socket.on('data', (chunk) => (answer += chunk.toString()));
        socket.on('error', reject).on('close', () => resolve(answer));
      });
    }

    function expectClean({ source, token }: ReceivedMail): void {
      expect(source).not.toMatch(/evil\./i);
      expect(source).toContain(`${base}/auth/reset/${token}`);
      for (const link of source.match(/https?:\/\/[^\s"<>]+/g) ?? []) expect(link.startsWith(base)).toBe(true);
    }

    it('remembers no host of an earlier request (R3)', async () => {
      expect(
        await exchange('POST /auth/reset_email HTTP/1.1', 'Host: evil.test', 'X-Forwarded-Host: evil.test'),
      ).toMatch(accepted);
      expectClean(await service.mailbox.take(known));
      await endMailLimits(service);
      expect((await service.post('/auth/reset_email', { body: { email: known } })).status).toBe(202);
      expectClean(await service.mailbox.take(known));
    });

    it.each([
      ['another Host', ['POST /auth/reset_email HTTP/1.1', 'Host: evil.test']],
      ['a Host with a path', ['POST /auth/reset_email HTTP/1.1', `Host: evil.test/${base}`]],
      ['no Host, over HTTP/1.0', ['POST /auth/reset_email HTTP/1.0']],
    ])('ignores link poisoning by %s (R1)', async (_name, head) => {
      expect(await exchange(...head)).toMatch(accepted);
      expectClean(await service.mailbox.take(known));
    });

    it.each([
      ['two Host headers', ['POST /auth/reset_email HTTP/1.1', 'Host: localhost', 'Host: evil.test'], twoHosts],
      [
        'two Host headers that agree',
        ['POST /auth/reset_email HTTP/1.1', 'Host: localhost', 'Host: localhost'],
        twoHosts,
      ],
      ['no Host, over HTTP/1.1', ['POST /auth/reset_email HTTP/1.1'], /^HTTP\/1\.1 400 /],
      ['an absolute target', ['POST http://evil.test/auth/reset_email HTTP/1.1', 'Host: localhost'], nowhere],
      ['an absolute target of the service', [`POST ${base}/auth/reset_email HTTP/1.1`, 'Host: evil.test'], nowhere],
    ])('rejects link poisoning by %s (R1)', async (_name, head, refusal) => {
      expect(await exchange(...head)).toMatch(refusal);
      await queueEmpty(service);
      expect(service.mailbox.mails).toEqual([]);
    });

    it('ignores forwarding headers, from a trusted proxy and from a stranger (R2)', async () => {
      const mailFor = async (headers: Record<string, string>, ip: string | undefined) => {
        await endMailLimits(service);
        const answer = await service.post('/auth/reset_email', {
          headers,
          body: { email: known },
          ...(ip === undefined ? {} : { ip }),
        });
        expect(answer.status).toBe(202);
        const mail = await service.mailbox.take(known);
        expectClean(mail);
        return constantPart(mail);
      };
      const clean = await mailFor({}, undefined);
      const names = [
        'x-forwarded-host',
        'x-forwarded-proto',
        'x-forwarded-port',
        'x-forwarded-prefix',
        'forwarded',
        'x-original-url',
        'x-host',
      ];
      for (const name of [...names, 'x-rewrite-url']) {
        expect(
          await mailFor({ [name]: name === 'forwarded' ? 'host=evil.test;proto=http' : 'evil.test' }, undefined),
        ).toBe(clean);
        expect(await mailFor({ [name]: 'http://evil.test:81/auth/reset/' }, '198.51.100.7')).toBe(clean);
      }
    });
  });
});

/** Returns a mail without the parts that differ between mails. */
function constantPart({ source, token }: ReceivedMail): string {
  return source
    .replace(/^(Message-ID|Date):.*$/gim, '$1:')
    .replace(/--_NmP-[\w-]+/g, 'boundary')
    .replaceAll(token ?? '', 'token');
}

const minuteMax = 5;
const requestsMax = 10;
const rounds = 25;
const tries = 20;

/** Spellings of the same address, in upper and lower case and with spaces. */
function variantsOf(email: string): string[] {
  const at = email.indexOf('@');
  const [local, domain] = [email.slice(0, at), email.slice(at)];
  const forms = [
    email,
    email.toUpperCase(),
    local.toUpperCase() + domain,
    local + domain.toUpperCase(),
    `${email[0]?.toUpperCase()}${email.slice(1)}`,
  ];
  const spaced = forms.flatMap((form) => [form, ` ${form}`, `${form} `, `\t${form}\n`, `  ${form}  `]);
  return Array.from({ length: rounds }, (_, index) => spaced[index % spaced.length] ?? email);
}

describe('a flood of requests', () => {
  let service: TestService;
  let addresses = 0;
  beforeAll(async () => {
    service = await TestService.start({
      LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: String(minuteMax),
      REQUESTS_PER_ADDRESS_PER_MINUTE: String(requestsMax),
    });
  });
  afterAll(() => service.close());

  /** Returns an unused client address. */
  const anotherClient = () => `198.51.100.${++addresses}`;

  async function askForAll(email: string, clientOf: () => string): Promise<TestAnswer[]> {
    const answers: TestAnswer[] = [];
    for (const variant of variantsOf(email))
      answers.push(await service.post('/auth/reset_email', { body: { email: variant }, ip: clientOf() }));
    return answers;
  }

  it.each([
    ['each from another client', () => anotherClient, Array<number>(rounds).fill(202)],
    [
      'all from one client',
      () => {
        const client = anotherClient();
        return () => client;
      },
      [...Array<number>(minuteMax).fill(202), ...Array<number>(rounds - minuteMax).fill(429)],
    ],
  ])(
    'mails one link for 25 requests in any spelling, %s, and responds to an unknown address alike (R7)',
    async (_title, clients, wanted) => {
      const { email } = await service.createUser();
      const known = await askForAll(email, clients());
      const unknown = await askForAll('unknown@example.com', clients());
      expect(known.map(({ status }) => status)).toEqual(wanted);
      expect(unknown.map(({ status }) => status)).toEqual(wanted);
      expect(known.slice(0, minuteMax).map(visibleResponse)).toEqual(unknown.slice(0, minuteMax).map(visibleResponse));
      await queueEmpty(service);
      expect(service.mailbox.mails.splice(0).map(({ to }) => to)).toEqual([[email]]);
    },
  );

  it('rejects guesses beyond the limit of a client address, but none of other addresses (R8)', async () => {
    const { email } = await service.createUser();
    const token = await mailedResetToken(service, email);
    const body = { password: `${password} again` };
    const guess = (method: string, text: string, ip: string) =>
      service.send(method, `/auth/reset/${text}`, method === 'GET' ? { ip } : { ip, body });
    for (const [method, max] of [
      ['POST', minuteMax],
      ['GET', requestsMax],
    ] as const) {
      const ip = anotherClient();
      const answers: TestAnswer[] = [];
      for (let index = 0; index < tries; index++)
        answers.push(await guess(method, String(index).padStart(43, 'A'), ip));
      expect(answers.map(({ status }) => status)).toEqual([
        ...Array<number>(max).fill(404),
        ...Array<number>(tries - max).fill(429),
      ]);
      expect(answers.at(-1)?.headers).toMatchObject({
        'retry-after': expect.stringMatching(/^\d+$/),
        'ratelimit-policy': expect.any(String),
      });
      // The right token gets the same response.
      expect((await guess(method, token, ip)).status).toBe(429);
    }
    expect((await guess('GET', token, anotherClient())).status).toBe(200);
    expect((await guess('POST', token, anotherClient())).status).toBe(204);
  });
});
