import { CredentialsService } from '../../../src/credentials/credentials.service';
import { JobsRepository } from '../../../src/jobs/jobs.repository';
import { queueEmpty } from '../../support/links';
import { password, TestService } from '../../support/service';
import { until } from '../../support/until';

const anHour = `now() + interval '1 hour'`;

describe('the queue of mails', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  beforeEach(() => {
    service.mailbox.rejects = true;
  });
  afterEach(() => service.rows('delete from graphile_worker._private_jobs'));
  afterAll(() => service.close());

  const waiting = (key: string) => service.rows('select 1 from graphile_worker.jobs where key = $1', [key]);
  const setJob = (user_id: string, values: string) =>
    service.rows(`update graphile_worker._private_jobs set ${values} where payload ->> 'user_id' = $1`, [user_id]);
  const list = async (query: string, token = service.admin.token) =>
    (await service.get(`/mail/list?${query}`, { token })).body.items;
  const retry = (mail_id: string, token = service.admin.token) => service.post(`/mail/${mail_id}/retry`, { token });
  const invite = async (fields: object = {}) => {
    const user = await service.createUser({ password: undefined, must_change_password: undefined, ...fields });
    return user;
  };

  /** Returns an invited user whose invitation failed seven times and waits for an hour. */
  async function undelivered(fields: object = {}): Promise<{ user_id: string; email: string; mail_id: string }> {
    const user = await invite(fields);
    const key = `invitation:${user.user_id}`;
    const failed = 'select 1 from graphile_worker.jobs where key = $1 and last_error is not null and locked_at is null';
    await until(async () => (await service.rows(failed, [key])).length > 0);
    await setJob(user.user_id, `attempts = 7, run_at = ${anHour}`);
    const [mail] = await list(`user_id=${user.user_id}`);
    return { ...user, mail_id: mail.mail_id };
  }

  const retriesOf = async (user_id: string) =>
    (await service.get(`/audit/list?event_type=mail.retried&target_id=${user_id}`, service.admin)).body.items;

  it('lists a mail without its link and token; a retry sends the mail and is recorded (R21)', async () => {
    const { user_id, email, mail_id } = await undelivered();
    const listed = await service.get(`/mail/list?recipient=${email.toUpperCase()}`, service.admin);
    expect(listed.body.items).toEqual([
      {
        mail_id,
        kind: 'invitation',
        state: 'retrying',
        user_id,
        name: expect.any(String),
        carrier_id: 'c1',
        recipient: email,
        attempts: 7,
        last_error: expect.stringContaining('rejected by the test'),
        created_at: expect.any(String),
        next_attempt_at: expect.any(String),
      },
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
    expect(await retriesOf(user_id)).toMatchObject([
      {
        actor_id: service.admin.user_id,
        carrier_id: 'c1',
        changes: { mail_id: { after: mail_id }, kind: { after: 'invitation' } },
      },
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
    expect(await retriesOf(user_id)).toEqual([]);
    await setJob(user_id, 'locked_at = null, locked_by = null');
  });

  it('releases an abandoned mail, but not the mails that the same process is sending (F41)', async () => {
    const [abandoned, sent] = [await invite(), await invite()];
    await setJob(sent.user_id, `locked_at = now(), locked_by = 'a pool'`);
    await setJob(
      abandoned.user_id,
      `run_at = ${anHour}, locked_at = now() - interval '6 minutes', locked_by = 'a pool'`,
    );
    await service.app.get(JobsRepository).releaseAbandoned(300);
    const locked = `
      select payload ->> 'user_id' as user_id
      from graphile_worker._private_jobs
      where locked_by = 'a pool'`;
    expect(await service.rows(locked)).toEqual([{ user_id: sent.user_id }]);
  });

  it('lists and retries only mails to users within the scope of the caller (Z3, Z4)', async () => {
    const mine = await undelivered({ carrier_id: 'c2' });
    const other = await undelivered({ carrier_id: 'c1' });
    const system = await undelivered({ user_type: 'system' });
    await service.rows(
      `insert into roles (name, user_types, permissions) values ('postmaster', '{system}', '{mail:manage}')`,
    );
    const operator = await service.loginAs({ user_type: 'system', roles: ['postmaster'], carrier_scope: ['c2'] });
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    const made = await service.post('/auth/key/create', {
      token: service.admin.token,
      body: { name: 'mails', permissions: ['mail:manage'], carrier_scope: ['c2'], expires_at },
    });
    for (const token of [operator.token, made.body.key as string]) {
      const visible = (await list('', token)) as { user_id: string; carrier_id: string | null }[];
      expect(visible.map(({ user_id }) => user_id)).toContain(mine.user_id);
      expect(visible.filter(({ carrier_id }) => carrier_id !== 'c2')).toEqual([]);
      for (const { user_id, email, mail_id } of [other, system]) {
        for (const query of [`user_id=${user_id}`, `recipient=${email}`, `mail_id=${mail_id}`])
          expect(await list(`${query}&count=exact`, token)).toEqual([]);
        expect((await retry(mail_id, token)).body).toMatchObject({ status: 404, code: 'mail.not_found' });
        expect(await list(`mail_id=${mail_id}`)).toMatchObject([{ attempts: 7 }]);
      }
      // A mail of its own: after a retry, it is being sent.
      const own = await undelivered({ carrier_id: 'c2' });
      expect((await retry(own.mail_id, token)).status).toBe(202);
    }
    const auditor = await service.loginAs({ user_type: 'system', roles: ['auditor'] });
    expect((await service.get('/mail/list', auditor)).status).toBe(403);
    expect((await retry(mine.mail_id, auditor.token)).status).toBe(403);
  });

  it('lists mails page by page', async () => {
    const made = [await undelivered(), await undelivered(), await undelivered()];
    const ids = made.map(({ mail_id }) => mail_id);
    for (const order_by of ['created_at', 'next_attempt_at']) {
      const found: string[] = [];
      for (let cursor = ''; ;) {
        const query = `mail_id_in=${ids.join()}&order_by=${order_by}&order_dir=asc&per_page=1${cursor}`;
        const { body } = await service.get(`/mail/list?${query}`, service.admin);
        found.push(...body.items.map(({ mail_id }: { mail_id: string }) => mail_id));
        if (body.next_cursor === null) break;
        cursor = `&cursor=${body.next_cursor}`;
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
      const { user_id } = await invite({ email });
      await service.mailbox.take(email);
      await queueEmpty(service);
      await service.delete(`/user/${user_id}`, service.admin);
    }
    const { user_id } = await invite({ email });
    for (let round = 0; round < 3; round++) {
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
    await service.patch(`/user/${user.user_id}`, {
      token: service.admin.token,
      body: { email: 'erased-too@example.com' },
    });
    const stored = () =>
      service.rows(`select 1 from graphile_worker._private_jobs where payload::text like '%erased%'`);
    const failed = `select 1 from graphile_worker.jobs where key = $1 and attempts > 0 and locked_at is null`;
    await until(async () => (await service.rows(failed, [`email-change-notice:${user.user_id}`])).length > 0);
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
    const shown = await service.app.get(CredentialsService).mintToken(user.user_id, 'shown', '');
    expect((await service.post(`/auth/reset/${shown}`, { body: { password } })).status).toBe(204);
    expect(await waiting(`reset:${user.user_id}`)).toEqual([]);
    const links = await service.rows(
      'select token_hash from one_time_tokens where user_id = $1 and token_hash is not null',
      [user.user_id],
    );
    expect(links).toEqual([]);
  });
});
