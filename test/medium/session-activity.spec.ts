import { ActivityNotes } from '../../src/auth/tokens/activity-notes.service';
import { type TestLogin, TestService } from '../support/in-process';
import { ServiceProcess } from '../support/service-process';

/** Longer than any session lives here, so that nothing is written early because a session ends. */
const farMs = 3_600_000;

describe('the last use of sessions', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(`
      create table notes (session_id uuid);
      create function count_note() returns trigger language plpgsql as $$
      begin
        insert into notes values (new.session_id);
        return null;
      end $$;
      create trigger count_note after update of last_seen_at on sessions
      for each row execute function count_note()`);
  });
  afterAll(() => service.close());

  const notes = () => service.app.get(ActivityNotes, { strict: false });
  /** Writes the collected activity immediately instead of a second later. */
  const flush = () => notes().onModuleDestroy();
  const noted = async ({ session_id }: TestLogin) =>
    (await service.rows('select 1 from notes where session_id = $1', [session_id])).length;
  /** Moves the last use of a session into the past and drops it from memory. */
  const age = async ({ session_id, user_id }: TestLogin, interval: string) => {
    await service.rows('update sessions set last_seen_at = last_seen_at - $2::interval where session_id = $1', [
      session_id,
      interval,
    ]);
    await service.rows(`delete from notes`);
    await service.rows(`select pg_notify('user_changed', $1)`, [user_id]);
  };
  const use = async ({ token }: TestLogin) => {
    expect((await service.get('/user', { token })).status).toBe(200);
    await flush();
  };
  const rowOf = async ({ session_id }: TestLogin) =>
    (
      await service.rows<Record<string, Date>>('select last_seen_at, expires_at from sessions where session_id = $1', [
        session_id,
      ])
    )[0];

  it('records the last use once a minute, however often a session is used', async () => {
    const login = await service.loginAs();
    await age(login, '50 s');
    for (let time = 0; time < 5; time++) await use(login);
    expect(await noted(login)).toBe(0);
    await age(login, '20 s');
    for (let time = 0; time < 5; time++) await use(login);
    expect(await noted(login)).toBe(1);
  });

  it('records nothing for a session that has ended or expired, so that nothing revives it', async () => {
    const [ended, expired, live] = [await service.loginAs(), await service.loginAs(), await service.loginAs()];
    const past = `last_seen_at = now() - interval '1 hour'`;
    await service.rows(`update sessions set ${past} where session_id = $1`, [live.session_id]);
    await service.rows(
      `update sessions set ${past}, ended_at = now(), ended_reason = 'revoked' where session_id = $1`,
      [ended.session_id],
    );
    await service.rows(`update sessions set ${past}, expires_at = now() - interval '1 ms' where session_id = $1`, [
      expired.session_id,
    ]);
    const before = [await rowOf(ended), await rowOf(expired)];
    for (const { session_id, user_id } of [ended, expired, live]) notes().add(session_id, user_id, farMs);
    await flush();
    expect([await rowOf(ended), await rowOf(expired)]).toEqual(before);
    expect(Date.now() - Number((await rowOf(live))?.['last_seen_at'])).toBeLessThan(60_000);
  });

  it.each(['user_seen', 'sessions'])('skips a locked row of %s, and records all others', async (table) => {
    const [changed, free] = [await service.loginAs(), await service.loginAs()];
    for (const login of [changed, free]) await age(login, '1 hour');
    const add = () => [changed, free].forEach(({ session_id, user_id }) => notes().add(session_id, user_id, farMs));
    const holder = await service.sql.connect();
    try {
      await holder.query('begin');
      await holder.query(`select 1 from ${table} where user_id = $1 for update`, [changed.user_id]);
      add();
      await flush();
      expect([await noted(changed), await noted(free)]).toEqual([0, 1]);
    } finally {
      await holder.query('rollback');
      holder.release();
    }
    add();
    await flush();
    expect(await noted(changed)).toBe(1);
  });

  it('records the last use before the service stops', async () => {
    const login = await service.loginAs();
    const other = await ServiceProcess.beside(service);
    await age(login, '1 hour');
    expect((await other.send('GET', '/user', { token: login.token })).status).toBe(200);
    expect(await other.stop()).toBe(0);
    expect(await noted(login)).toBe(1);
  });
});
