import type { CredentialsService } from '../../src/auth/passwords/credentials.service';
import type { JobsRepository } from '../../src/platform/jobs/jobs.repository';
import { changesOf } from '../support/data/events';
import { importRows } from '../support/data/imports';
import { createKey } from '../support/data/keys';
import { queueEmpty } from '../support/data/links';
import { password, TestService } from '../support/service';
import { until } from '../support/until';

const anHour = `now() + interval '1 hour'`;

describe('the delivery of mails', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  /** Returns whether the mail with a key failed and waits for the next attempt. */
  const isWaiting = (key: string) => async () => {
    const failed = 'select 1 from graphile_worker.jobs where key = $1 and attempts > 0 and locked_at is null';
    return (await service.rows(failed, [key])).length > 0;
  };

  describe('the limits per inbox', () => {
    const mailsTo = (email: string) => service.mailbox.mails.filter(({ to }) => to.includes(email));
    const invitee = (name: string, email: string) => ({ user_type: 'carrier', carrier_id: 'c1', name, email });
    const create = (name: string, email: string) =>
      service.post('/user/create', { ...service.admin, body: invitee(name, email) });
    const importInvited = (rows: object[]) => importRows(service, rows, service.admin, 'invite=true');
    const createAndDelete = async (name: string, email: string) => {
      const { status, body } = await create(name, email);
      // Wait for the mail: a mail to a deleted user is not sent.
      await queueEmpty(service);
      expect(status).toBe(201);
      await service.delete(`/user/${body.user_id}`, service.admin);
    };
    /** Uses up the invitations of an address within an hour. */
    const useUp = async (email: string) => {
      const [name] = email.split('@');
      for (const spelling of [email, `${email[0]?.toUpperCase()}${email.slice(1)}`, email.toUpperCase()])
        await createAndDelete(`${name}-before`, spelling);
    };
    const moveTo = async (user_id: string | undefined, email: string) => {
      const { status } = await service.patch(`/user/${user_id}`, { ...service.admin, body: { email } });
      expect(status).toBe(200);
      await queueEmpty(service);
    };
    const endMailLimits = () =>
      service.rows(`update one_time_tokens set requested_at = requested_at - interval '5 minutes'`);
    const hourPasses = () => service.rows(`update rate_limits set ends_at = ends_at - interval '1 hour'`);
    /** Makes delayed mails due now. */
    const delayEnds = async () => {
      await hourPasses();
      await service.rows('update graphile_worker._private_jobs set run_at = now() where run_at > now()');
      await queueEmpty(service);
    };
    const delayed = (key: string) =>
      service.rows<{ seconds: number }>(
        `
          select extract(epoch from run_at - now())::integer as seconds
          from graphile_worker.jobs
          where key = $1 and run_at > now()`,
        [key],
      );

    it('mails three invitations for all kinds of requests together, with a valid newest link (E13)', async () => {
      const email = 'every-way@example.com';
      const { user_id } = (await create('every-way', email)).body;
      await queueEmpty(service);
      const invite = async () => {
        expect((await service.post(`/user/${user_id}/invite`, service.admin)).status).toBe(202);
        await queueEmpty(service);
      };
      const requestReset = async () => {
        await endMailLimits();
        expect((await service.post('/auth/reset_email', { body: { email } })).status).toBe(202);
        await queueEmpty(service);
      };
      await invite();
      await requestReset();
      const newest = mailsTo(email).at(-1)?.token ?? '';
      expect(mailsTo(email)).toHaveLength(3);
      await invite();
      await requestReset();
      expect(mailsTo(email)).toHaveLength(3);
      expect((await service.get(`/auth/reset/${newest}`)).status).toBe(200);
      await invite();
      const [job, ...more] = await delayed(`invitation:${user_id}`);
      expect([job && job.seconds > 3_500 && job.seconds <= 3_600, more]).toEqual([true, []]);
      await delayEnds();
      expect(mailsTo(email)).toHaveLength(4);
      expect((await service.get(`/auth/reset/${newest}`)).status).toBe(404);
      expect((await service.get(`/auth/reset/${mailsTo(email).at(-1)?.token}`)).status).toBe(200);
    });

    it('mails three confirmations to a repeatedly proposed address, with a valid newest link (E13)', async () => {
      const [email, spelling] = ['proposed@example.com', 'PROPOSED@example.com'];
      const [one, two] = [await service.createUser(), await service.createUser()];
      await moveTo(one.user_id, email);
      for (const address of [email, spelling, email, spelling]) await moveTo(two.user_id, address);
      for (const address of ['elsewhere@example.com', email]) await moveTo(one.user_id, address);
      expect([...mailsTo(email), ...mailsTo(spelling)]).toHaveLength(3);
      await delayEnds();
      const confirmed = service.mailbox.mails.filter(({ to }) => to.some((to) => [email, spelling].includes(to)));
      expect(confirmed).toHaveLength(5);
      for (const { token } of confirmed.slice(-2)) expect((await service.get(`/auth/email/${token}`)).status).toBe(200);
      // The notice to the current address is never skipped.
      expect(mailsTo(one.email)).toHaveLength(3);
    });

    it('mails 10 confirmations an hour to an inbox, regardless of the plus-tags of its addresses (E14)', async () => {
      const received = () => service.mailbox.mails.filter(({ to }) => to.some((one) => /^tagged/i.test(one)));
      for (let user = 0; user < 3; user++) {
        const { user_id } = await service.createUser();
        for (let proposal = 0; proposal < 5; proposal++)
          await moveTo(user_id, proposal === 0 ? 'tagged@example.com' : `Tagged+${user}-${proposal}@example.com`);
      }
      expect(received()).toHaveLength(10);
      await delayEnds();
      expect(received().slice(10)).toMatchObject([{ to: ['Tagged+2-4@example.com'] }]);
    });

    it('mails three delayed confirmations an hour if many users propose the same address (E13)', async () => {
      const email = 'many-proposals@example.com';
      for (let round = 0; round < 7; round++) await moveTo((await service.createUser()).user_id, email);
      const counts = [mailsTo(email).length];
      for (let hour = 0; hour < 3; hour++) {
        await delayEnds();
        counts.push(mailsTo(email).length);
      }
      expect(counts).toEqual([3, 6, 7, 7]);
    });

    it('keeps an invitation that waits to be sent if a further one is delayed (E13)', async () => {
      const email = 'waiting@example.com';
      service.mailbox.rejects = true;
      const { user_id } = (await create('waiting', email)).body;
      for (let round = 0; round < 4; round++) {
        // A request while the job runs would enqueue a second job.
        await until(isWaiting(`invitation:${user_id}`));
        expect((await service.post(`/user/${user_id}/invite`, service.admin)).status).toBe(202);
      }
      await until(isWaiting(`invitation:${user_id}`));
      service.mailbox.rejects = false;
      await service.rows('update graphile_worker._private_jobs set run_at = now() where attempts > 0');
      await until(() => mailsTo(email).length > 0);
      await queueEmpty(service);
    });

    it('counts the invitations of imports and of changed addresses (E13)', async () => {
      const [email, other] = ['imported@example.com', 'other@example.com'];
      for (let round = 0; round < 2; round++) await createAndDelete(`before-import-${round}`, email);
      for (let round = 0; round < 2; round++) {
        const rows = [invitee(`imported-${round}`, email), invitee(`imported-other-${round}`, `${round}-${other}`)];
        expect((await importInvited(rows)).body).toMatchObject({ changed: 2, skipped_count: 0 });
        await queueEmpty(service);
        expect(mailsTo(`${round}-${other}`)).toHaveLength(1);
        await service.rows('delete from users where name like $1', ['imported-%']);
      }
      expect(mailsTo(email)).toHaveLength(3);
      await moveTo((await create('moved', other)).body.user_id, email);
      expect(mailsTo(email)).toHaveLength(3);
      await delayEnds();
      expect(mailsTo(email)).toHaveLength(4);
    });

    it('mails the invitation of an imported user later if the limit is reached (E13)', async () => {
      const email = 'imported-late@example.com';
      await useUp(email);
      expect((await importInvited([invitee('imported-late', email)])).body).toMatchObject({ changed: 1 });
      await queueEmpty(service);
      const sent = mailsTo(email).length;
      await delayEnds();
      expect(mailsTo(email)).toHaveLength(sent + 1);
    });

    it('mails no queued invitation to another address than the counted one (E13)', async () => {
      const email = 'late@example.com';
      await useUp(email);
      service.mailbox.rejects = true;
      const { user_id } = (await create('late-moved', 'first@example.com')).body;
      await until(isWaiting(`invitation:${user_id}`));
      const body = { email };
      expect((await service.patch(`/user/${user_id}`, { ...service.admin, body })).status).toBe(200);
      service.mailbox.rejects = false;
      await service.rows('update graphile_worker._private_jobs set run_at = now() where attempts > 0');
      await queueEmpty(service);
      const sent = mailsTo(email).length;
      await delayEnds();
      expect(mailsTo(email)).toHaveLength(sent + 1);
      expect(mailsTo('first@example.com')).toEqual([]);
    });

    it('mails at most three invitations for parallel requests (E13)', async () => {
      const email = 'parallel@example.com';
      await service.rows('delete from rate_limits');
      const { user_id } = (await create('parallel', email)).body;
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => service.post(`/user/${user_id}/invite`, service.admin)),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
      const [counter] = await service.rows<{ most: number }>('select max(hits) as most from rate_limits');
      expect(counter?.most).toBe(3);
      await queueEmpty(service);
      expect(mailsTo(email).length).toBeLessThanOrEqual(3);
    });

    it('mails three reset links an hour and ten a day, and keeps the newest link valid (R7)', async () => {
      const { email } = await service.loginAs({ roles: ['carrier_user'] });
      const ask = async (times: number) => {
        for (let time = 0; time < times; time++) {
          await endMailLimits();
          expect((await service.post('/auth/reset_email', { body: { email: email.toUpperCase() } })).status).toBe(202);
          await queueEmpty(service);
        }
        return mailsTo(email).length;
      };
      expect(await ask(4)).toBe(3);
      expect((await service.get(`/auth/reset/${mailsTo(email).at(-1)?.token}`)).status).toBe(200);
      for (const sent of [6, 9, 10]) {
        await hourPasses();
        expect(await ask(4)).toBe(sent);
      }
      await service.rows(`update rate_limits set ends_at = ends_at - interval '1 day'`);
      expect(await ask(1)).toBe(11);
    });

    it('mails ten reset links a day for requests from known addresses, and ten for all others (R7)', async () => {
      const user = await service.loginAs();
      const ask = async (ip?: string) => {
        await endMailLimits();
        await hourPasses();
        await service.post('/auth/reset_email', { body: { email: user.email }, ...(ip && { ip }) });
        await queueEmpty(service);
        return mailsTo(user.email).length;
      };
      /** As if more mails had been counted today. */
      const count = (hits: number) =>
        service.rows(`update rate_limits set hits = hits + $1 where ends_at > now() + interval '2 hours'`, [hits]);
      await service.rows('delete from rate_limits');
      await ask('198.51.100.1');
      await count(8);
      expect([await ask('198.51.100.2'), await ask('198.51.100.3')]).toEqual([2, 2]);
      expect([await ask(), await ask()]).toEqual([3, 4]);
      await service.rows('update rate_limits set hits = 9 where hits = 2');
      expect([await ask(), await ask(), await ask('198.51.100.4')]).toEqual([5, 5, 5]);
    });

    it('keeps no address in the counters, and removes those that have ended', async () => {
      await create('kept', 'kept@example.com');
      const kept = await service.rows<{ text: string }>(
        `select r::text || encode(key, 'escape') as text from rate_limits r`,
      );
      expect(kept.length).toBeGreaterThan(0);
      for (const { text } of kept) expect(text).not.toMatch(/kept|example|invit/);
      await service.rows(`update rate_limits set ends_at = now() - interval '1 second'`);
      await service.rows(`select graphile_worker.add_job('forget-rate-limits', '{}')`);
      await queueEmpty(service);
      expect(await service.rows('select 1 from rate_limits')).toEqual([]);
    });
  });

  describe('the queue', () => {
    beforeEach(() => {
      service.mailbox.rejects = true;
    });
    afterEach(() => service.rows('delete from graphile_worker._private_jobs'));

    const waiting = (key: string) => service.rows('select 1 from graphile_worker.jobs where key = $1', [key]);
    const setJob = (user_id: string, values: string) =>
      service.rows(`update graphile_worker._private_jobs set ${values} where payload ->> 'user_id' = $1`, [user_id]);
    const list = async (query: string, token = service.admin.token) =>
      (await service.get(`/mail/list?${query}`, { token })).body.items;
    const retry = (mail_id: string, token = service.admin.token) => service.post(`/mail/${mail_id}/retry`, { token });

    /** Returns an invited user whose invitation failed seven times and waits for an hour. */
    async function undelivered(fields: Record<string, unknown> = {}) {
      const user = await service.inviteUser(fields);
      await until(isWaiting(`invitation:${user.user_id}`));
      await setJob(user.user_id, `attempts = 7, run_at = ${anHour}`);
      const [mail] = await list(`user_id=${user.user_id}`);
      return { ...user, mail_id: mail.mail_id as string };
    }

    it('lists a mail without its link and token; a retry sends the mail and is recorded (R21)', async () => {
      const { user_id, name, email, mail_id } = await undelivered();
      const listed = await service.get(`/mail/list?recipient=${email.toUpperCase()}`, service.admin);
      const [created_at, last_error] = [expect.any(String), expect.stringContaining('rejected by the test')];
      const mail = {
        mail_id,
        kind: 'invitation',
        state: 'retrying',
        user_id,
        name,
        carrier_id: 'c1',
        recipient: email,
      };
      expect(listed.body.items).toEqual([
        { ...mail, attempts: 7, last_error, failing: true, created_at, next_attempt_at: expect.any(String) },
      ]);
      expect(listed.text).not.toMatch(/[A-Za-z0-9_-]{43}|\/auth\/|127\.0\.0\.1/);
      service.mailbox.rejects = false;
      const retried = await retry(mail_id);
      expect([retried.status, retried.body.state, retried.body.attempts]).toEqual([202, 'waiting', 0]);
      const { token } = await service.mailbox.take(email);
      expect((await service.get(`/auth/reset/${token}`)).status).toBe(200);
      await queueEmpty(service);
      expect(await list(`user_id=${user_id}`)).toEqual([]);
      expect((await retry(mail_id)).body).toMatchObject({ status: 404, code: 'mail.not_found' });
      expect(await changesOf(service, 'mail.retried', user_id)).toEqual([
        { mail_id: { after: mail_id }, kind: { after: 'invitation' } },
      ]);
    });

    it('retries a mail after the last attempt', async () => {
      const { user_id, email, mail_id } = await undelivered();
      await setJob(user_id, 'attempts = max_attempts');
      expect(await list(`user_id=${user_id}&state=failed`)).toMatchObject([{ state: 'failed', next_attempt_at: null }]);
      expect(await list(`user_id=${user_id}&state_in=waiting,retrying,sending`)).toEqual([]);
      service.mailbox.rejects = false;
      expect((await retry(mail_id)).status).toBe(202);
      expect((await service.mailbox.take(email)).token).not.toBeNull();
    });

    it('rejects a retry of a mail that is being sent', async () => {
      const { user_id, mail_id } = await undelivered();
      await setJob(user_id, `locked_at = now(), locked_by = 'another worker'`);
      expect(await list(`mail_id=${mail_id}`)).toMatchObject([{ state: 'sending', next_attempt_at: null }]);
      expect((await retry(mail_id)).body).toMatchObject({ status: 409, code: 'mail.being_sent' });
      expect(await changesOf(service, 'mail.retried', user_id)).toEqual([]);
      await setJob(user_id, 'locked_at = null, locked_by = null');
    });

    it('releases an abandoned mail, but not the mails that the same process is sending (F41)', async () => {
      const [abandoned, sent] = [await service.inviteUser(), await service.inviteUser()];
      for (const { user_id } of [abandoned, sent])
        await setJob(user_id, `run_at = ${anHour}, locked_at = now() - interval '60 seconds', locked_by = 'a pool'`);
      const ids = `select id::text from graphile_worker._private_jobs where payload ->> 'user_id' = $1`;
      const [{ id }] = (await service.rows(ids, [sent.user_id])) as [{ id: string }];
      const jobs = service.inside<JobsRepository>('JobsRepository');
      const ended = '9000000000000000';
      expect(await jobs.renew([id, ended], 'a pool')).toEqual([id]);
      await jobs.releaseAbandoned(40);
      const locked = `
        select payload ->> 'user_id' as user_id
        from graphile_worker._private_jobs
        where locked_by = 'a pool'`;
      expect(await service.rows(locked)).toEqual([{ user_id: sent.user_id }]);
    });

    it('lists and retries only mails to users within the scope of the caller (Z3, Z4)', async () => {
      const mine = await undelivered({ carrier_id: 'c2' });
      const others = [await undelivered({ carrier_id: 'c1' }), await undelivered({ user_type: 'system' })];
      const { key } = await createKey(service, ['mail:manage'], { carrier_scope: ['c2'] });
      expect(await list('', key)).toMatchObject([{ user_id: mine.user_id, carrier_id: 'c2' }]);
      for (const { user_id, email, mail_id } of others) {
        for (const query of [`user_id=${user_id}`, `recipient=${email}`, `mail_id=${mail_id}`])
          expect(await list(`${query}&count=exact`, key)).toEqual([]);
        expect((await retry(mail_id, key)).body).toMatchObject({ status: 404, code: 'mail.not_found' });
        expect(await list(`mail_id=${mail_id}`)).toMatchObject([{ attempts: 7 }]);
      }
      expect((await retry(mine.mail_id, key)).status).toBe(202);
    });

    it('lists mails page by page', async () => {
      const ids = [(await undelivered()).mail_id, (await undelivered()).mail_id, (await undelivered()).mail_id];
      for (const order_by of ['created_at', 'next_attempt_at']) {
        const found: string[] = [];
        const query = `mail_id_in=${ids.join()}&order_by=${order_by}&order_dir=asc&per_page=1`;
        for (let [cursor, hasMore] = ['', true]; hasMore;) {
          const { body } = await service.get(`/mail/list?${query}${cursor}`, service.admin);
          found.push(...body.items.map(({ mail_id }: { mail_id: string }) => mail_id));
          [cursor, hasMore] = [`&cursor=${body.next_cursor}`, body.next_cursor !== null];
        }
        expect([order_by, found]).toEqual([order_by, ids]);
      }
    });

    it('shows no text of an error that is not a response of the mail server (O6)', async () => {
      const { user_id } = await undelivered();
      await setJob(user_id, `last_error = 'relation "users" does not exist at /src/x.ts'`);
      const [{ last_error }] = await list(`user_id=${user_id}`);
      expect(last_error).toBe('The service failed to prepare the mail. The log contains the error.');
    });

    it('applies the limit of an address to retries (E13)', async () => {
      service.mailbox.rejects = false;
      const email = 'retried@example.com';
      for (let round = 0; round < 3; round++) {
        const { user_id } = await service.inviteUser({ email });
        await service.mailbox.take(email);
        await queueEmpty(service);
        await service.delete(`/user/${user_id}`, service.admin);
      }
      const { user_id } = await service.inviteUser({ email });
      for (let round = 0; round < 2; round++) {
        const [mail] = await list(`user_id=${user_id}&state=waiting`);
        expect((await retry(mail.mail_id)).status).toBe(202);
        await queueEmpty(service);
      }
      expect(service.mailbox.mails.filter(({ to }) => to.includes(email))).toEqual([]);
      const [{ next_attempt_at }] = await list(`user_id=${user_id}&state=waiting`);
      expect(new Date(next_attempt_at as string).getTime()).toBeGreaterThan(Date.now() + 3_000_000);
    });

    it('contains no address of a purged user (Z19)', async () => {
      const user = await service.createUser({ email: 'erased@example.com' });
      const body = { email: 'erased-too@example.com' };
      await service.patch(`/user/${user.user_id}`, { ...service.admin, body });
      const stored = () =>
        service.rows(`select 1 from graphile_worker._private_jobs where payload::text like '%erased%'`);
      await until(isWaiting(`email-change-notice:${user.user_id}`));
      expect(await stored()).toHaveLength(1);
      expect((await service.delete(`/user/${user.user_id}?purge=true`, service.admin)).status).toBe(204);
      expect(await stored()).toEqual([]);
    });

    it('keeps a requested link after a change of the password, and sends none after a reset (R12, R30)', async () => {
      const user = await service.loginAs({ roles: ['carrier_user'] });
      expect((await service.post('/auth/reset_email', { body: { email: user.email } })).status).toBe(202);
      await until(async () => (await waiting(`reset:${user.user_id}`)).length > 0);
      await setJob(user.user_id, `run_at = ${anHour}, locked_at = null, locked_by = null`);
      const body = { current_password: password, new_password: 'another quiet river, quite long' };
      expect((await service.post('/auth/password', { token: user.token, body })).status).toBe(204);
      expect(await waiting(`reset:${user.user_id}`)).toHaveLength(1);
      const shown = await service.inside<CredentialsService>('CredentialsService').mintToken(user.user_id, 'shown', '');
      expect((await service.post(`/auth/reset/${shown}`, { body: { password } })).status).toBe(204);
      expect(await waiting(`reset:${user.user_id}`)).toEqual([]);
      const links = await service.rows(
        'select token_hash from one_time_tokens where user_id = $1 and token_hash is not null',
        [user.user_id],
      );
      expect(links).toEqual([]);
    });
  });
});
