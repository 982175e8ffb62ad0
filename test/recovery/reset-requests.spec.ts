import type { MailerService } from '@nestjs-modules/mailer';
import { importCsv } from '../support/data/imports';
import { endMailLimits, mailedResetToken, queueEmpty, visibleResponse } from '../support/data/links';
import { inTransaction } from '../support/locks';
import { Mailbox, type ReceivedMail } from '../support/network/mailbox';
import { rawRequest } from '../support/network/raw-request';
import { password, type TestAnswer, TestService } from '../support/service';
import { until } from '../support/until';

const base = 'https://identity.example.net';
const minuteMax = 5;
const requestsMax = 10;
const times = (status: number, count: number): number[] => Array<number>(count).fill(status);

describe('requests for a reset link', () => {
  let service: TestService;
  let known: string;
  /** gets the mails that are rendered and discarded, once a test says so */
  const discards = new Mailbox();
  beforeAll(async () => {
    await discards.start();
    service = await TestService.start({
      PUBLIC_URL: base,
      LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: String(minuteMax),
      REQUESTS_PER_ADDRESS_PER_MINUTE: String(requestsMax),
    });
    known = (await service.createUser()).email;
  });
  beforeEach(() => endMailLimits(service));
  afterAll(async () => {
    await service.close();
    await discards.stop();
  });

  let addresses = 0;
  /** Returns an unused client address. */
  const anotherClient = () => `198.51.${Math.floor(++addresses / 250)}.${addresses % 250}`;
  const ask = (email: string, ip = anotherClient(), headers = {}) =>
    service.post('/auth/reset_email', { body: { email }, ip, headers });
  /** Makes waiting mails due now, instead of after the back-off. */
  const tryAgain = () =>
    service.rows('update graphile_worker._private_jobs set run_at = now() where locked_at is null');
  const limits = () => service.inside<{ set(values: object): void; restore(): void }>('ResetLimits');

  it('returns the same response for known, unknown, disabled, deleted, locked and invited users (R4)', async () => {
    const { token } = service.admin;
    const [disabled, deleted, locked] = [
      await service.createUser(),
      await service.createUser(),
      await service.createUser(),
    ];
    await service.patch(`/user/${disabled.user_id}`, { token, body: { status: 'disabled' } });
    await service.delete(`/user/${deleted.user_id}`, { token });
    await service.rows(`update users set locked_until = now() + interval '1 hour' where user_id = $1`, [
      locked.user_id,
    ]);
    const invited = await service.inviteUser();
    await service.mailbox.take(invited.email);
    const system = await service.createUser({ user_type: 'system' });
    await endMailLimits(service);
    const answer = await ask('unknown@example.com');
    expect(answer).toMatchObject({ status: 202, text: '{}' });
    for (const email of [known, disabled.email, deleted.email, locked.email, invited.email, system.email])
      expect(visibleResponse(await ask(email))).toEqual(visibleResponse(answer));
    await queueEmpty(service);
    const mailed = service.mailbox.mails.splice(0);
    const resets = [known, locked.email, system.email].map((email) => `${email} Set a new password`);
    expect(mailed.map(({ to: [to], source }) => `${to} ${/^Subject: (.*)$/m.exec(source)?.[1]}`).sort()).toEqual(
      [...resets, `${invited.email} Your invitation`].sort(),
    );
  });

  it('responds without a look at any user, so that the time reveals none (R5)', async () => {
    await inTransaction(service, async (other) => {
      await other.query('lock table users, user_search, user_logins in access exclusive mode');
      // The lookup of a user would wait for the lock.
      for (const email of [known, 'unknown@example.com']) expect((await ask(email)).status).toBe(202);
      const lookups = `select 1 from graphile_worker._private_jobs where payload ->> 'email' is not null`;
      expect((await other.query(lookups)).rows).toHaveLength(2);
    });
    // A lookup that waited too long for the lock runs again.
    await until(async () => {
      await tryAgain();
      return service.mailbox.mails.some(({ to }) => to.includes(known));
    });
    await queueEmpty(service);
    service.mailbox.mails.splice(0);
  });

  describe('in the background', () => {
    /** Delays new jobs, until the function is dropped. */
    const holdJobs = () =>
      service.rows(`
        create function hold_job() returns trigger language plpgsql as
          'begin new.run_at := now() + interval ''1 hour''; return new; end';
        create trigger hold_job before insert on graphile_worker._private_jobs
          for each row execute function hold_job()`);

    it('handles requests at a random moment of three seconds (L31)', async () => {
      await service.rows(`
        create table delays (delay float8);
        create function note_delay() returns trigger language plpgsql as
          'begin insert into delays values (extract(epoch from new.run_at - now())); return new; end';
        create trigger note_delay before insert on graphile_worker._private_jobs
          for each row when (new.payload ->> 'email' is not null) execute function note_delay()`);
      await limits().restore();
      for (let count = 0; count < 20; count++) await ask(count % 2 === 0 ? known : `${count}@example.com`);
      await limits().set({ delaySeconds: 0 });
      const noted = await service.rows<{ delay: number }>('select delay from delays order by delay');
      const delays = noted.map(({ delay }) => delay);
      expect(delays).toHaveLength(20);
      expect(delays.at(-1)).toBeLessThanOrEqual(3.1);
      // The probability that 20 random delays of 3 s are within 0.6 s is 10⁻¹².
      expect((delays.at(-1) ?? 0) - (delays[0] ?? 0)).toBeGreaterThan(0.6);
      await service.rows('drop trigger note_delay on graphile_worker._private_jobs');
      await tryAgain();
      await queueEmpty(service);
      service.mailbox.mails.splice(0);
    });

    it('mails the links before the invitations of an import that are due (B31)', async () => {
      await service.rows(`
        create table ended (place serial, mail text);
        create function note_end() returns trigger language plpgsql as
          'begin insert into ended (mail) values (old.payload ->> ''mail''); return null; end';
        create trigger note_end after delete on graphile_worker._private_jobs
          for each row execute function note_end()`);
      await holdJobs();
      const rows = Array.from({ length: 30 }, (_, index) => `carrier,c1,new${index},new${index}@example.com`);
      const file = ['user_type,carrier_id,name,email', ...rows].join('\n');
      expect((await importCsv(service, file, service.admin, 'invite=true')).body.changed).toBe(30);
      await ask(known);
      await service.rows(`
        drop function hold_job cascade;
        update graphile_worker._private_jobs
        set run_at = now() - case payload ->> 'mail' when 'invitation' then 60 else 0 end * interval '1 second'`);
      await queueEmpty(service);
      const ended = (await service.rows('select mail from ended order by place')).map(({ mail }) => mail);
      expect(ended.filter((mail) => mail === 'invitation')).toHaveLength(30);
      expect(ended).toContain('reset');
      expect(ended.lastIndexOf('invitation')).toBeGreaterThan(ended.indexOf('reset'));
      await service.rows('drop trigger note_end on graphile_worker._private_jobs');
      service.mailbox.mails.splice(0);
    });

    it('renders, but never sends, a mail for unknown and disabled users and beyond a limit (L31)', async () => {
      await service.inside<MailerService>('MailerService').addTransporter('discarded', discards.url);
      const { user_id, email: disabled } = await service.createUser();
      await service.patch(`/user/${user_id}`, { ...service.admin, body: { status: 'disabled' } });
      for (const email of ['unknown@example.com', disabled, known, known]) await ask(email);
      await queueEmpty(service);
      expect(service.mailbox.mails.splice(0).map(({ to }) => to)).toEqual([[known]]);
      await until(() => discards.mails.length >= 3);
      for (const { to, source } of discards.mails.splice(0)) {
        expect(to).toEqual(['nobody@x.invalid']);
        expect(source).toContain('Subject: Set a new password');
      }
    });

    it('renders no mails for unknown addresses beyond a limit per second, but mails all links (L31)', async () => {
      const requests = 100;
      await limits().set({ imitationsPerSecond: 1 });
      await holdJobs();
      await ask('unknown@example.com');
      await service.rows('drop function hold_job cascade');
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

  it.each([
    ['is down', () => service.mailbox.stop(), () => service.mailbox.start()],
    [
      'rejects recipients',
      () => Promise.resolve(service.mailbox.unknown.add(known)),
      () => Promise.resolve(service.mailbox.unknown.delete(known)),
    ],
  ])(
    'returns the same response while the mail server %s, and delivers the mail later (R6, F9, F10)',
    async (_title, fail, recover) => {
      await fail();
      const answer = await ask('unknown@example.com');
      expect(visibleResponse(await ask(known))).toEqual(visibleResponse(answer));
      expect(answer.status).toBe(202);
      const failed = 'select 1 from graphile_worker._private_jobs where attempts > 0 and last_error is not null';
      await until(async () => (await service.rows(failed)).length > 0);
      expect(visibleResponse(await ask(known))).toEqual(visibleResponse(answer));
      const queued = await service.rows<{ job: string }>('select j::text as job from graphile_worker._private_jobs j');
      expect(queued.map(({ job }) => job).join()).not.toMatch(/[A-Za-z0-9_-]{43}/);
      await recover();
      await tryAgain();
      const { token } = await service.mailbox.take(known);
      expect((await service.get(`/auth/reset/${token}`)).status).toBe(200);
      await queueEmpty(service);
      expect(service.mailbox.mails).toEqual([]);
    },
  );

  describe('contain links of the configuration only', () => {
    /** Sends raw bytes, as from another client, and returns the raw response. */
    function exchange(...head: string[]): Promise<string> {
      const body = JSON.stringify({ email: known });
      const headers = ['Content-Type: application/json', `Content-Length: ${body.length}`, 'Connection: close'];
      const lines = [...head, `X-Forwarded-For: ${anotherClient()}`, ...headers, '', body];
      return rawRequest(service.port, lines.join('\r\n'));
    }

    async function expectCleanMail(): Promise<string> {
      const mail = await service.mailbox.take(known);
      expect(mail.source).not.toMatch(/evil\./i);
      expect(mail.source).toContain(`${base}/auth/reset/${mail.token}`);
      for (const link of mail.source.match(/https?:\/\/[^\s"<>]+/g) ?? []) expect(link.startsWith(base)).toBe(true);
      await endMailLimits(service);
      return constantPart(mail);
    }

    it('ignores other hosts in a request, and remembers none of them (R1, R3)', async () => {
      const post = 'POST /auth/reset_email HTTP/1.1';
      for (const head of [
        [post, 'Host: evil.test', 'X-Forwarded-Host: evil.test'],
        [post, `Host: evil.test/${base}`],
        ['POST /auth/reset_email HTTP/1.0'],
        [post, 'Host: localhost'],
      ]) {
        expect([head, await exchange(...head)]).toEqual([head, expect.stringMatching(/^HTTP\/1\.1 202 /)]);
        await expectCleanMail();
      }
    });

    it('rejects several hosts, a missing host over HTTP/1.1, and absolute targets (R1)', async () => {
      const post = 'POST /auth/reset_email HTTP/1.1';
      const twoHosts = /^HTTP\/1\.1 400 [^]*application\/problem\+json[^]*"parameter":"Host"/;
      const nowhere = /^HTTP\/1\.1 404 [^]*application\/problem\+json[^]*"code":"request.not_found"/;
      const cases: [string[], RegExp][] = [
        [[post, 'Host: localhost', 'Host: evil.test'], twoHosts],
        [[post, 'Host: localhost', 'Host: localhost'], twoHosts],
        [[post], /^HTTP\/1\.1 400 /],
        [['POST http://evil.test/auth/reset_email HTTP/1.1', 'Host: localhost'], nowhere],
        [[`POST ${base}/auth/reset_email HTTP/1.1`, 'Host: evil.test'], nowhere],
      ];
      for (const [head, refusal] of cases)
        expect([head, await exchange(...head)]).toEqual([head, expect.stringMatching(refusal)]);
      await queueEmpty(service);
      expect(service.mailbox.mails).toEqual([]);
    });

    it('ignores forwarding headers, from a trusted proxy and from a stranger (R2)', async () => {
      const names = ['host', 'proto', 'port', 'prefix'].map((name) => `x-forwarded-${name}`);
      const forged = (value: string) =>
        Object.fromEntries([...names, 'x-original-url', 'x-host', 'x-rewrite-url'].map((name) => [name, value]));
      const mailFor = async (headers: object) => {
        expect((await ask(known, anotherClient(), headers)).status).toBe(202);
        return expectCleanMail();
      };
      const clean = await mailFor({});
      expect(await mailFor({ ...forged('evil.test'), forwarded: 'host=evil.test;proto=http' })).toBe(clean);
      expect(await mailFor({ ...forged('http://evil.test:81/auth/reset/'), forwarded: 'host=evil.test' })).toBe(clean);
      expect(await mailFor({ 'x-forwarded-proto': 'http', 'x-forwarded-port': '81' })).toBe(clean);
    });
  });

  it.each([
    ['each from another client', () => anotherClient, times(202, 10)],
    [
      'all from one client',
      () => {
        const client = anotherClient();
        return () => client;
      },
      [...times(202, minuteMax), ...times(429, 10 - minuteMax)],
    ],
  ])(
    'mails one link for ten requests in any spelling, %s, and responds to an unknown address alike (R7)',
    async (_title, clients, wanted) => {
      const { email } = await service.createUser();
      const known = await askInAnySpelling(email, clients());
      const unknown = await askInAnySpelling('unknown@example.com', clients());
      expect(known.map(({ status }) => status)).toEqual(wanted);
      expect(unknown.map(({ status }) => status)).toEqual(wanted);
      expect(known.slice(0, minuteMax).map(visibleResponse)).toEqual(unknown.slice(0, minuteMax).map(visibleResponse));
      await queueEmpty(service);
      expect(service.mailbox.mails.splice(0).map(({ to }) => to)).toEqual([[email]]);
    },
  );

  /** Sends ten requests for an address, in upper and lower case and with spaces. */
  async function askInAnySpelling(email: string, clientOf: () => string): Promise<TestAnswer[]> {
    const [local = '', domain = ''] = email.split('@');
    const forms = [
      ...[email, email.toUpperCase(), `${local.toUpperCase()}@${domain}`, `${local}@${domain.toUpperCase()}`],
      `${email[0]?.toUpperCase()}${email.slice(1)}`,
    ];
    const answers: TestAnswer[] = [];
    for (const [index, form] of [...forms, ...forms].entries())
      answers.push(await ask(index < forms.length ? form : `\t ${form}\n`, clientOf()));
    return answers;
  }

  it('rejects guesses beyond the limit of a client address, but none of other addresses (R8)', async () => {
    const token = await mailedResetToken(service, known);
    const body = { password: `${password} again` };
    const guess = (method: string, text: string, ip: string) =>
      service.send(method, `/auth/reset/${text}`, method === 'GET' ? { ip } : { ip, body });
    for (const [method, max] of [
      ['POST', minuteMax],
      ['GET', requestsMax],
    ] as const) {
      const ip = anotherClient();
      const answers: TestAnswer[] = [];
      while (answers.length < max + 2) answers.push(await guess(method, String(answers.length).padStart(43, 'A'), ip));
      expect(answers.map(({ status }) => status)).toEqual([...times(404, max), ...times(429, 2)]);
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

/** Returns a mail without the parts that differ between mails. */
function constantPart({ source, token }: ReceivedMail): string {
  return source
    .replace(/^(Message-ID|Date):.*$/gim, '$1:')
    .replace(/--_NmP-[\w-]+/g, 'boundary')
    .replaceAll(token ?? '', 'token');
}
