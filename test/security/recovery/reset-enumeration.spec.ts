import { SMTPServer } from 'smtp-server';
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
