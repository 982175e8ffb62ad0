import { queueEmpty } from '../../support/links';
import { until } from '../../support/until';
import { TestService } from '../../support/service';

describe('flooding an inbox with mails of the service', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const mailsTo = (email: string) => service.mailbox.mails.filter(({ to }) => to.includes(email));
  const invitee = (name: string, email: string) => ({ user_type: 'carrier', carrier_id: 'c1', name, email });
  const create = (name: string, email: string) =>
    service.post('/user/create', { ...service.admin, body: invitee(name, email) });
  const importInvited = (rows: object[]) =>
    service.post('/user/import?invite=true', {
      token: service.admin.token,
      body: rows.map((row) => JSON.stringify(row)).join('\n'),
      headers: { 'content-type': 'application/x-ndjson' },
    });
  const createAndDelete = async (name: string, email: string) => {
    const { status, body } = await create(name, email);
    // Wait for the mail: a mail to a deleted user is not sent.
    await queueEmpty(service);
    await service.delete(`/user/${body.user_id}`, service.admin);
    return status;
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

  it('mails three invitations to an address if users are created and deleted in a loop (E13)', async () => {
    const spellings = ['flooded@example.com', 'Flooded@example.com', 'FLOODED@EXAMPLE.COM'];
    for (let round = 0; round < 10; round++)
      expect(await createAndDelete(`flooded-${round}`, spellings[round % 3] as string)).toBe(201);
    const received = service.mailbox.mails.filter(({ to }) => to.some((one) => one.toLowerCase() === spellings[0]));
    expect(received).toHaveLength(3);
  });

  it('mails the invitation of a new user later if users with the same address used up its limit (E13)', async () => {
    const email = 'squatted@example.com';
    for (let round = 0; round < 3; round++) await createAndDelete(`squatted-${round}`, email);
    const { status, body } = await create('squatted', email);
    expect(status).toBe(201);
    await queueEmpty(service);
    expect(mailsTo(email)).toHaveLength(3);
    const [job, ...more] = await delayed(`invitation:${body.user_id}`);
    expect(more).toEqual([]);
    expect(job?.seconds).toBeGreaterThan(3_500);
    expect(job?.seconds).toBeLessThanOrEqual(3_600);
    await delayEnds();
    expect(mailsTo(email)).toHaveLength(4);
    expect((await service.get(`/auth/reset/${mailsTo(email).at(-1)?.token}`)).status).toBe(200);
  });

  it('mails three invitations for all kinds of requests together, and keeps the newest link valid (E13)', async () => {
    const email = 'every-way@example.com';
    const { user_id } = (await create('every-way', email)).body;
    await queueEmpty(service);
    const invite = () => service.post(`/user/${user_id}/invite`, service.admin);
    expect((await invite()).status).toBe(202);
    await queueEmpty(service);
    await endMailLimits();
    expect((await service.post('/auth/reset_email', { body: { email } })).status).toBe(202);
    await queueEmpty(service);
    const newest = mailsTo(email).at(-1)?.token ?? '';
    expect(mailsTo(email)).toHaveLength(3);
    expect((await invite()).status).toBe(202);
    await endMailLimits();
    expect((await service.post('/auth/reset_email', { body: { email } })).status).toBe(202);
    await queueEmpty(service);
    expect(mailsTo(email)).toHaveLength(3);
    expect((await service.get(`/auth/reset/${newest}`)).status).toBe(200);
    expect((await invite()).status).toBe(202);
    expect(await delayed(`invitation:${user_id}`)).toHaveLength(1);
    await delayEnds();
    expect(mailsTo(email)).toHaveLength(4);
    expect((await service.get(`/auth/reset/${newest}`)).status).toBe(404);
    expect((await service.get(`/auth/reset/${mailsTo(email).at(-1)?.token}`)).status).toBe(200);
  });

  it('mails three confirmations to a repeatedly proposed address, and keeps the newest link valid (E13)', async () => {
    const email = 'proposed@example.com';
    const users = [await service.createUser(), await service.createUser()];
    const propose = async (index: number, address: string) => {
      await service.patch(`/user/${users[index]?.user_id}`, { token: service.admin.token, body: { email: address } });
      await queueEmpty(service);
    };
    await propose(0, email);
    await propose(1, email);
    await propose(1, email.toUpperCase().replace('EXAMPLE.COM', 'example.com'));
    for (let round = 0; round < 4; round++) await propose(1, email.toUpperCase().replace('EXAMPLE.COM', 'example.com'));
    for (let round = 0; round < 4; round++) await propose(0, round % 2 === 0 ? 'elsewhere@example.com' : email);
    const received = service.mailbox.mails.filter(({ to }) => to.some((one) => one.toLowerCase() === email));
    expect(received).toHaveLength(3);
    expect((await service.get(`/auth/email/${received.at(-1)?.token}`)).status).toBe(200);
    await delayEnds();
    await queueEmpty(service);
    const confirmed = service.mailbox.mails.filter(({ to }) => to.some((one) => one.toLowerCase() === email));
    expect(confirmed).toHaveLength(5);
    for (const { token } of confirmed.slice(-2)) expect((await service.get(`/auth/email/${token}`)).status).toBe(200);
    // The notice to the current address is never skipped.
    const [user] = await service.rows<{ email: string }>('select email from users where user_id = $1', [
      users[0]?.user_id,
    ]);
    expect(mailsTo(user?.email ?? '').length).toBeGreaterThanOrEqual(5);
  });

  it('mails 10 confirmations an hour to an inbox, regardless of the plus-tags of its addresses (E14)', async () => {
    const received = () => service.mailbox.mails.filter(({ to }) => to.some((one) => /^tagged/i.test(one)));
    for (let user = 0; user < 6; user++) {
      const { user_id } = await service.createUser();
      for (let proposal = 0; proposal < 5; proposal++) {
        const email = proposal === 0 ? 'tagged@example.com' : `Tagged+${user}-${proposal}@example.com`;
        const { status } = await service.patch(`/user/${user_id}`, { token: service.admin.token, body: { email } });
        expect(status).toBe(200);
        await queueEmpty(service);
      }
    }
    expect(received()).toHaveLength(10);
    await delayEnds();
    expect(received().length).toBeGreaterThan(10);
    for (const { to } of received().slice(10)) expect(to[0]).toMatch(/^Tagged\+\d-4@example\.com$/);
  });

  it('mails three delayed confirmations an hour if many users propose the same address (E13)', async () => {
    const email = 'many-proposals@example.com';
    for (let round = 0; round < 10; round++) {
      const { user_id } = await service.createUser();
      expect((await service.patch(`/user/${user_id}`, { token: service.admin.token, body: { email } })).status).toBe(
        200,
      );
      await queueEmpty(service);
    }
    const counts = [mailsTo(email).length];
    for (let hour = 0; hour < 4; hour++) {
      await delayEnds();
      counts.push(mailsTo(email).length);
    }
    expect(counts).toEqual([3, 6, 9, 10, 10]);
  });

  it('keeps an invitation that waits to be sent if a further one is delayed (E13)', async () => {
    const email = 'waiting@example.com';
    service.mailbox.rejects = true;
    const { user_id } = (await create('waiting', email)).body;
    const failed = `select 1 from graphile_worker.jobs where key = $1 and attempts > 0 and locked_at is null`;
    const isWaiting = async () => (await service.rows(failed, [`invitation:${user_id}`])).length > 0;
    for (let round = 0; round < 5; round++) {
      // A request while the job runs would enqueue a second job.
      await until(isWaiting);
      expect((await service.post(`/user/${user_id}/invite`, service.admin)).status).toBe(202);
    }
    await until(isWaiting);
    service.mailbox.rejects = false;
    await service.rows('update graphile_worker._private_jobs set run_at = now() where attempts > 0');
    await until(() => Promise.resolve(mailsTo(email).length > 0));
    await queueEmpty(service);
  });

  it('counts the invitations of imports and of changed addresses (E13)', async () => {
    const [email, other] = ['imported@example.com', 'other@example.com'];
    for (let round = 0; round < 2; round++) await createAndDelete(`before-import-${round}`, email);
    for (let round = 0; round < 3; round++) {
      const rows = [invitee(`imported-${round}`, email), invitee(`imported-other-${round}`, `${round}-${other}`)];
      expect((await importInvited(rows)).body).toMatchObject({ changed: 2, skipped_count: 0 });
      await queueEmpty(service);
      expect(mailsTo(`${round}-${other}`)).toHaveLength(1);
      await service.rows('delete from users where name like $1', ['imported-%']);
    }
    expect(mailsTo(email)).toHaveLength(3);
    const { user_id } = (await create('moved', other)).body;
    const move = (to: string) => service.patch(`/user/${user_id}`, { token: service.admin.token, body: { email: to } });
    expect((await move(email)).status).toBe(200);
    await queueEmpty(service);
    expect(mailsTo(email)).toHaveLength(3);
    await delayEnds();
    expect(mailsTo(email)).toHaveLength(4);
  });

  it('mails the invitation of an imported user later if the limit is reached (E13)', async () => {
    const email = 'imported-late@example.com';
    for (let round = 0; round < 3; round++) await createAndDelete(`imported-late-${round}`, email);
    expect((await importInvited([invitee('imported-late', email)])).body).toMatchObject({ changed: 1 });
    await queueEmpty(service);
    expect(mailsTo(email)).toHaveLength(3);
    await delayEnds();
    expect(mailsTo(email)).toHaveLength(4);
  });

  it('mails no queued invitation to another address than the counted one (E13)', async () => {
    const email = 'late@example.com';
    for (let round = 0; round < 3; round++) await createAndDelete(`late-${round}`, email);
    service.mailbox.rejects = true;
    const { user_id } = (await create('late-moved', 'first@example.com')).body;
    const failed = `select 1 from graphile_worker.jobs where key = $1 and attempts > 0 and locked_at is null`;
    await until(async () => (await service.rows(failed, [`invitation:${user_id}`])).length > 0);
    expect((await service.patch(`/user/${user_id}`, { token: service.admin.token, body: { email } })).status).toBe(200);
    service.mailbox.rejects = false;
    await service.rows('update graphile_worker._private_jobs set run_at = now() where attempts > 0');
    await queueEmpty(service);
    expect(mailsTo(email)).toHaveLength(3);
    await delayEnds();
    expect(mailsTo(email)).toHaveLength(4);
    expect(mailsTo('first@example.com')).toEqual([]);
  });

  it('mails at most three invitations for parallel requests (E13)', async () => {
    const email = 'parallel@example.com';
    await service.rows('delete from rate_limits');
    const { user_id } = (await create('parallel', email)).body;
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => service.post(`/user/${user_id}/invite`, service.admin)),
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
    expect(await ask(5)).toBe(3);
    expect((await service.get(`/auth/reset/${mailsTo(email).at(-1)?.token}`)).status).toBe(200);
    const counts = [];
    for (let hour = 0; hour < 3; hour++) {
      await hourPasses();
      counts.push(await ask(5));
    }
    expect(counts).toEqual([6, 9, 10]);
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
    for (let request = 0; request < 12; request++) await ask(`198.51.100.${request}`);
    expect(mailsTo(user.email)).toHaveLength(10);
    for (let request = 0; request < 10; request++) await ask();
    expect([await ask(), await ask('198.51.100.200')]).toEqual([20, 20]);
  });

  it('keeps no address of a purged user in the queue (E13)', async () => {
    service.mailbox.rejects = true;
    const { user_id } = (await create('purged', 'purged@example.com')).body;
    const waiting = () =>
      service.rows(`select 1 from graphile_worker._private_jobs where payload::text like '%purged@%'`);
    const key = `invitation:${user_id}`;
    const failed = `select 1 from graphile_worker.jobs where key = $1 and attempts > 0 and locked_at is null`;
    await until(async () => (await service.rows(failed, [key])).length > 0);
    expect(await waiting()).toHaveLength(1);
    expect((await service.delete(`/user/${user_id}?purge=true`, service.admin)).status).toBe(204);
    expect(await waiting()).toEqual([]);
    service.mailbox.rejects = false;
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
