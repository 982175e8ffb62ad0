import { queueEmpty } from '../support/data/links';
import { addManyUsers, ended } from '../support/data/many-users';
import { type TestLogin, TestService } from '../support/service';

describe('invitations for many users', () => {
  let service: TestService;
  let admin: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
  });
  afterAll(() => service.close());

  const patch = (query: string, by = admin, body: object = { invite: true }) =>
    service.patch(`/user/all?${query}`, { token: by.token, body });
  const addInvited = async (count: number, carrier: string) => {
    await addManyUsers(service, count, carrier);
    await service.rows(`delete from credentials where user_id in (select user_id from users where carrier_id = $1)`, [
      carrier,
    ]);
    await service.rows(`update users set status = 'invited' where carrier_id = $1`, [carrier]);
  };
  const mailsTo = (email: string) => service.mailbox.mails.filter(({ to }) => to.includes(email));
  const open = async (token: string | null) => (await service.get(`/auth/reset/${token}`)).status;

  it('previews the number of mails and the time that they take, and mails only invited users', async () => {
    await addInvited(3, 'new');
    const active = await service.createUser({ carrier_id: 'new' });
    await queueEmpty(service);
    const { body: shown } = await patch('carrier_id=new&dry_run=true');
    expect(shown).toMatchObject({
      ...{ matched: 4, would_change: 3, mails: 3, unchanged: 0, mails_seconds: expect.any(Number) },
      skipped: [{ user_id: active.user_id, reason: 'user.not_invited' }],
    });
    expect(shown.mails_seconds).toBeGreaterThan(0);
    const { body } = await patch(`carrier_id=new&confirm_token=${shown.confirm_token}`);
    expect(body).toMatchObject({ kind: 'result', changed: 3, skipped_count: 1, undo_until: null });
    await service.mailbox.take('new-1@example.com', /invitation|Invitation/i);
    await queueEmpty(service);
    expect(mailsTo(active.email)).toEqual([]);
    const events = (await service.get(`/audit/list?operation_id=${body.operation_id}`, admin)).body.items;
    expect(events.filter(({ event_type }: { event_type: string }) => event_type === 'user.invited')).toHaveLength(3);
    expect(await service.rows(`select distinct version from users where carrier_id = 'new'`)).toEqual([{ version: 1 }]);
    const undo = await service.post(`/user/operation/${body.operation_id}/undo`, admin);
    expect(undo.body.code).toBe('operation.not_undoable');
  });

  it('estimates a longer time while other mails wait', async () => {
    await addInvited(1, 'slow');
    await queueEmpty(service);
    const seconds = async () => (await patch('carrier_id=slow&dry_run=true')).body.mails_seconds as number;
    const alone = await seconds();
    await service.rows(`
      select count(*) from graphile_worker.add_jobs(array(
        select ('send-mail', '{}', null, now() + interval '1 hour', 25, null, 0, null)::graphile_worker.job_spec
        from generate_series(1, 5000)
      ))`);
    expect(await seconds()).toBeGreaterThan(alone);
    await service.rows(`delete from graphile_worker._private_jobs where run_at > now()`);
  });

  it('mails no address more than three invitations an hour, however often its user is invited (E13)', async () => {
    await addInvited(40, 'often');
    for (let time = 1; time <= 3; time++) {
      expect((await patch('carrier_id=often')).body.changed).toBe(40);
      await queueEmpty(service);
    }
    const before = mailsTo('often-7@example.com');
    expect(before).toHaveLength(3);
    expect((await patch('carrier_id=often')).body.changed).toBe(40);
    await queueEmpty(service);
    expect(mailsTo('often-7@example.com')).toHaveLength(3);
    // The newest link that was mailed stays valid until the next mail.
    expect([await open(before[0]!.token), await open(before[2]!.token)]).toEqual([404, 200]);
    const delayed = await service.rows<{ seconds: number }>(
      `select extract(epoch from run_at - now())::integer as seconds
       from graphile_worker.jobs where key like 'invitation:%'`,
    );
    expect(delayed).toHaveLength(40);
    expect(delayed.every(({ seconds }) => seconds > 3_000 && seconds <= 3_600)).toBe(true);
  });

  it('skips protected users, and matches nobody outside the scope of the caller (Z10, B19)', async () => {
    await addInvited(2, 'theirs');
    const caller = await service.loginAs({ carrier_id: 'mine', roles: ['carrier_administrator'] });
    expect((await patch('everyone=true&dry_run=true', caller)).body).toMatchObject({ matched: 1, mails: 0 });
    expect((await patch('carrier_id=theirs', caller)).body).toMatchObject({ matched: 0, changed: 0 });
    const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    const strong = await service.inviteUser({ user_type: 'system', roles: ['administrator'] });
    expect((await patch(`user_id=${strong.user_id}`, operator)).body).toMatchObject({
      ...{ changed: 0, skipped: [{ user_id: strong.user_id, reason: 'access.protected_user' }] },
    });
  });

  it('rejects other fields beside `invite`', async () => {
    const { status, body } = await patch('carrier_id=new', admin, { invite: true, locale: 'de' });
    expect([status, body.errors]).toEqual([400, [expect.objectContaining({ pointer: '/invite' })]]);
  });

  it('invites more than 10,000 users in the background', async () => {
    await addInvited(10_001, 'crowd');
    const { status, body } = await patch('carrier_id=crowd');
    expect([status, body.matched]).toEqual([202, 10_001]);
    expect(await ended(service, body.operation_id)).toMatchObject({
      status: 'done',
      changed: 10_001,
      undo_until: null,
    });
    await service.rows(`delete from graphile_worker._private_jobs where key like 'invitation:%' and locked_at is null`);
  });
});
