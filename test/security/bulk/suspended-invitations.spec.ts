import { queueEmpty } from '../../support/links';
import { addManyUsers, ended } from '../../support/many-users';
import { until } from '../../support/until';
import { type TestAnswer, TestService } from '../../support/service';

const password = 'the owner chose this one';
const codeOf = ({ status, body }: TestAnswer): string => `${status}${body?.code === undefined ? '' : ` ${body.code}`}`;

describe('invitations of users who are disabled or deleted, and later enabled or restored', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  type User = { user_id: string; email: string };
  const create = (fields: object = {}) =>
    service.createUser({ password: undefined, must_change_password: undefined, ...fields });
  async function invited(): Promise<User & { token: string | null }> {
    const user = await create();
    return { ...user, token: (await service.mailbox.take(user.email)).token };
  }
  const by = () => ({ token: service.admin.token });
  const statusOf = (user: User, status: string) =>
    service.patch(`/user/${user.user_id}`, { ...by(), body: { status } });
  const open = async (token: string | null) => codeOf(await service.get(`/auth/reset/${token}`));
  const use = (token: string | null) => service.post(`/auth/reset/${token}`, { body: { password } });
  const found = (...users: User[]) => `/user/all?user_id_in=${users.map(({ user_id }) => user_id).join()}`;
  const undo = async ({ body }: TestAnswer) =>
    (await service.post(`/user/operation/${body.operation_id}/undo`, by())).body as object;
  const mailsTo = ({ email }: User) => service.mailbox.mails.filter(({ to }) => to.includes(email));

  it('suspends the link of a disabled user, which works again once the user is enabled (R41)', async () => {
    const user = await invited();
    await statusOf(user, 'disabled');
    expect(await open(user.token)).toBe('404 reset.token_invalid');
    expect(codeOf(await use(user.token))).toBe('404 reset.token_invalid');
    expect((await statusOf(user, 'invited')).body.status).toBe('invited');
    expect(await open(user.token)).toBe('200');
    expect((await use(user.token)).status).toBe(204);
  });

  it('mails the invitation after enabling to the address that was corrected meanwhile (R41, E30)', async () => {
    const user = await invited();
    await statusOf(user, 'disabled');
    const email = `right-${user.email}`;
    const changed = await service.patch(`/user/${user.user_id}`, { ...by(), body: { email } });
    expect(changed.body).toMatchObject({ email, email_pending: null });
    expect((await statusOf(user, 'invited')).status).toBe(200);
    // The change of the address may have mailed one too, which the newer one voids.
    await queueEmpty(service);
    const tokens = mailsTo({ ...user, email }).map((mail) => mail.token);
    expect((await use(tokens.at(-1) ?? null)).status).toBe(204);
    expect(codeOf(await use(user.token))).toBe('404 reset.token_invalid');
    expect(mailsTo(user)).toEqual([]);
  });

  it('suspends the link of a deleted user, which works again once the user is restored (R41)', async () => {
    const user = await invited();
    await service.delete(`/user/${user.user_id}`, by());
    expect(await open(user.token)).toBe('404 reset.token_invalid');
    expect((await service.post(`/user/${user.user_id}/restore`, by())).body.status).toBe('invited');
    expect((await use(user.token)).status).toBe(204);
  });

  it('restores the links with the undo of a bulk change, and counts restored and expired ones (R41)', async () => {
    const [live, expired] = [await invited(), await invited()];
    await service.rows(`update one_time_tokens set expires_at = now() where user_id = $1`, [expired.user_id]);
    const disabled = await service.patch(found(live, expired), { ...by(), body: { status: 'disabled' } });
    expect(disabled.body).toMatchObject({ changed: 2, links_restored: 0, links_expired: 0 });
    expect(await undo(disabled)).toMatchObject({ changed: 2, links_restored: 1, links_expired: 1 });
    expect((await use(live.token)).status).toBe(204);
    expect(await open(expired.token)).toBe('404 reset.token_invalid');
    await queueEmpty(service);
    expect(mailsTo(expired)).toEqual([]);
  });

  it('restores the links with the undo of a deletion, and with a bulk change of the status (R41)', async () => {
    const [one, other] = [await invited(), await invited()];
    expect(await undo(await service.delete(found(one), by()))).toMatchObject({ changed: 1, links_restored: 1 });
    expect((await use(one.token)).status).toBe(204);
    await service.patch(found(other), { ...by(), body: { status: 'disabled' } });
    const enabled = await service.patch(found(other), { ...by(), body: { status: 'invited' } });
    expect(enabled.body).toMatchObject({ changed: 1, links_restored: 1, links_expired: 0 });
    expect((await use(other.token)).status).toBe(204);
  });

  it('counts restored links over all batches of an operation in the background (R41)', async () => {
    await addManyUsers(service, 10_100, 'many');
    await service.rows(`update users set status = 'invited' where carrier_id = 'many'`);
    await service.rows(
      `
      delete from credentials where user_id in (select user_id from users where carrier_id = 'many')`,
    );
    await service.rows(`
      insert into one_time_tokens (user_id, purpose, requested_at, expires_at)
      select
        user_id, 'invite', now(),
        now() + case when substr(user_id::text, 36) < '8' then interval '1 day' else '0' end
      from users
      where carrier_id = 'many'`);
    const [{ live } = { live: 0 }] = await service.rows<{ live: number }>(
      'select count(*)::integer as live from one_time_tokens where expires_at > now()',
    );
    const disabled = await service.patch('/user/all?carrier_id=many', { ...by(), body: { status: 'disabled' } });
    expect(await ended(service, disabled.body.operation_id)).toMatchObject({ changed: 10_100, links_restored: 0 });
    const undone = await service.post(`/user/operation/${disabled.body.operation_id}/undo`, by());
    expect(await ended(service, undone.body.operation_id)).toMatchObject({
      skipped_reasons: {},
      changed: 10_100,
      links_restored: live,
      links_expired: 10_100 - live,
    });
  });

  it('sends an invitation that was not sent before the user was disabled or deleted (R41)', async () => {
    for (const back of ['enabled', 'restored']) {
      const email = `late-${back}@example.com`;
      service.mailbox.unknown.add(email);
      const user = await create({ email });
      await until(async () => (await service.get(`/mail/list?state=retrying`, by())).body.items.length === 1);
      if (back === 'enabled') await statusOf(user, 'disabled');
      else await service.delete(`/user/${user.user_id}`, by());
      service.mailbox.unknown.delete(email);
      await service.rows('update graphile_worker._private_jobs set run_at = now()');
      await queueEmpty(service);
      expect(mailsTo(user)).toEqual([]);
      if (back === 'enabled') await statusOf(user, 'invited');
      else await service.post(`/user/${user.user_id}/restore`, by());
      expect((await use((await service.mailbox.take(user.email)).token)).status).toBe(204);
    }
  });

  it('sends no invitation to an imported user who was never invited', async () => {
    const user = await invited();
    await service.rows('delete from one_time_tokens where user_id = $1', [user.user_id]);
    await statusOf(user, 'disabled');
    await statusOf(user, 'invited');
    await queueEmpty(service);
    expect(mailsTo(user)).toEqual([]);
  });

  it('voids all other links of a user who is disabled', async () => {
    const user = await service.createUser();
    await service.post('/auth/reset_email', { body: { email: user.email } });
    const { token } = await service.mailbox.take(user.email);
    await statusOf(user, 'disabled');
    await statusOf(user, 'active');
    expect(await open(token)).toBe('404 reset.token_invalid');
  });
});
