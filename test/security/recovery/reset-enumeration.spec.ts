import { MailerService } from '@nestjs-modules/mailer';
import { SMTPServer } from 'smtp-server';
import { resetLimits } from '../../../src/recovery/reset-requests.service';
import { endMailLimits, queueEmpty, visibleResponse } from '../../support/links';
import { until } from '../../support/until';
import { password, TestService } from '../../support/service';
import { likelihoodOfMore } from '../../support/timing';

describe('requests for a reset link', () => {
  let service: TestService;
  let known: string;

  beforeAll(async () => {
    service = await TestService.start();
    known = (await service.createUser()).email;
  });
  afterAll(() => service.close());

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

  describe('in the background', () => {
    afterEach(() => {
      Object.assign(resetLimits, { delaySeconds: 0, imitationsPerSecond: 20 });
    });

    it('handles requests at a random moment (L31)', async () => {
      resetLimits.delaySeconds = 1_000;
      await endMailLimits(service);
      const emails = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? known : `${index}@example.com`));
      for (const email of emails) await ask(email);
      const jobs = await service.rows<{ email: string; delay: number }>(`
        select payload ->> 'email' as email, extract(epoch from run_at - created_at)::float8 as delay
        from graphile_worker._private_jobs
        order by id`);
      expect(jobs.map(({ email }) => email)).toEqual(emails);
      const delays = jobs.map(({ delay }) => delay).sort((one, other) => one - other);
      expect(delays[0]).toBeGreaterThanOrEqual(0);
      expect(delays[19]).toBeLessThanOrEqual(1_000);
      // The probability that 20 random delays are within 200 s is 10⁻¹².
      expect((delays[19] ?? 0) - (delays[0] ?? 0)).toBeGreaterThan(200);
      await service.rows('update graphile_worker._private_jobs set run_at = now() where run_at > now()');
      await service.mailbox.take(known, /Subject: Set a new password/);
      await queueEmpty(service);
    });

    it('mails the links before the invitations of an import that are due (B31)', async () => {
      await endMailLimits(service);
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
      // Earlier tests may have used up the limit of this second.
      resetLimits.imitationsPerSecond = 1_000;
      const sent = jest.spyOn(service.app.get(MailerService, { strict: false }), 'sendMail');
      const disabled = await service.createUser();
      await service.patch(`/user/${disabled.user_id}`, { token: service.admin.token, body: { status: 'disabled' } });
      await endMailLimits(service);
      for (const email of ['unknown@example.com', disabled.email, known, known]) {
        await ask(email);
        await queueEmpty(service);
      }
      const transports = sent.mock.calls.map(([mail]) => mail.transporterName ?? 'smtp');
      expect(transports).toEqual(['discarded', 'discarded', 'smtp', 'discarded']);
      expect(new Set(sent.mock.calls.map(([mail]) => mail.subject))).toEqual(new Set(['Set a new password']));
      sent.mockRestore();
      expect(service.mailbox.mails.splice(0).map(({ to }) => to)).toEqual([[known]]);
    });
  });

  it('takes as long for known and unknown addresses (R5)', async () => {
    const timed = async (email: string) => {
      const start = performance.now();
      await service.app.inject({ method: 'POST', url: '/auth/reset_email', payload: { email } });
      return performance.now() - start;
    };
    for (let round = 0; round < 20; round++) await timed(round % 2 === 0 ? known : 'unknown@example.com');
    const times: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] };
    for (let round = 0; round < 250; round++) {
      // Both kinds come first equally often, so that a queued job slows both down alike.
      const order = (['known', 'unknown', 'unknown', 'known'] as const).slice(round % 2 === 0 ? 0 : 2).slice(0, 2);
      for (const kind of order) times[kind].push(await timed(kind === 'known' ? known : 'unknown@example.com'));
    }
    await queueEmpty(service);
    service.mailbox.mails.splice(0);
    // The probability that a known address takes longer. Its standard error with 250 + 250 samples
    // is 0.026.
    const share = likelihoodOfMore(times.known, times.unknown);
    expect(share).toBeGreaterThan(0.4);
    expect(share).toBeLessThan(0.6);
  });

  describe('with a failing mail server', () => {
    /** Makes waiting mails due now, instead of after the back-off. */
    const tryAgain = () =>
      service.rows('update graphile_worker._private_jobs set run_at = now() where locked_at is null');
    const triedInVain = async () =>
      (await service.rows('select 1 from graphile_worker._private_jobs where attempts > 0 and last_error is not null'))
        .length > 0;

    async function expectSameResponse(): Promise<void> {
      await endMailLimits(service);
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
      await service.mailbox.stop();
      const refusing = new SMTPServer({
        authOptional: true,
        disabledCommands: ['STARTTLS', 'AUTH'],
        onRcptTo: (_address, _session, done) => done(Object.assign(new Error('no such user'), { responseCode: 550 })),
      });
      await new Promise<void>((resolve) =>
        refusing.listen(Number(new URL(service.mailbox.url).port), '127.0.0.1', resolve),
      );
      await expectSameResponse();
      await new Promise<void>((resolve) => refusing.close(resolve));
      await service.mailbox.start();
      await expectDelivered();
      expect((await service.login(known, password)).token).toBeTruthy();
    });
  });
});

describe('requests for a reset link beyond the limit of imitations', () => {
  afterAll(() => {
    resetLimits.imitationsPerSecond = 20;
  });

  it('renders no further mails for unknown addresses beyond the limit, but mails all links (L31)', async () => {
    resetLimits.imitationsPerSecond = 0;
    const busy = await TestService.start();
    try {
      const sent = jest.spyOn(busy.app.get(MailerService, { strict: false }), 'sendMail');
      const { email } = await busy.createUser();
      for (const to of ['unknown@example.com', email]) await busy.post('/auth/reset_email', { body: { email: to } });
      await busy.mailbox.take(email, /Subject: Set a new password/);
      await queueEmpty(busy);
      expect(sent).toHaveBeenCalledTimes(1);
    } finally {
      await busy.close();
    }
  });
});
