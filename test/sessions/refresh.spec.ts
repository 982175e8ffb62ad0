import { hashToken } from '../../src/platform/random';
import type { SessionsService } from '../../src/auth/sessions/sessions.service';
import { queueEmpty } from '../support/links';
import { addLogins, type MadeLogin, refreshTokens, rotated } from '../support/made-logins';
import { RawConnection, requestHead } from '../support/raw-connection';
import { type TestAnswer, TestService } from '../support/service';
import { ServiceProcess } from '../support/service-process';
import { changeSession, sessionRow } from '../support/session-rows';
import { TcpProxy } from '../support/tcp-proxy';
import { until } from '../support/until';

const [rounds, racers] = [40, 20];
/** Number of sessions that share the rounds, so that each has many successors. */
const racing = 5;

describe('refresh tokens on two instances', () => {
  let service: TestService;
  /** reaches the database through the proxy */
  let other: ServiceProcess;
  let proxy: TcpProxy;
  beforeAll(async () => {
    service = await TestService.start();
    const { DATABASE_URL } = service.config;
    proxy = await TcpProxy.start(DATABASE_URL);
    other = await ServiceProcess.beside(service, { DATABASE_URL: proxy.url, DATABASE_DIRECT_URL: DATABASE_URL });
    await service.rows(`
      create table rotations (session_id uuid);
      create function count_rotation() returns trigger language plpgsql as $$
      begin
        insert into rotations values (new.session_id);
        return null;
      end $$;
      create trigger count_rotation after update on sessions for each row
      when (old.refresh_token_hash is distinct from new.refresh_token_hash) execute function count_rotation()`);
  });
  afterAll(async () => {
    await other.kill();
    await proxy.cut();
    await service.close();
  });

  const at = (index: number): ServiceProcess => (index % 2 === 0 ? service : other);
  const refresh = (index: number, refresh_token: string): Promise<TestAnswer> =>
    at(index).post('/auth/check-token', { body: { refresh_token } });
  const works = async (index: number, token: string) => (await at(index).get('/user', { token })).status;
  /** Waits until both instances reject access tokens. */
  const rejected = async (...tokens: string[]) => {
    for (const token of tokens)
      for (const index of [0, 1]) await until(async () => (await works(index, token)) === 401);
  };
  const moveBack = (login: MadeLogin, seconds: number) =>
    changeSession(service, login, `refreshed_at = refreshed_at - interval '${seconds} s'`);
  const made = async (prefix: string): Promise<MadeLogin> => (await addLogins(service, 1, { prefix }))[0] as MadeLogin;
  /** Waits for one mail to each user, and returns the mails. Fails if another mail follows. */
  const mailsTo = async (...logins: MadeLogin[]) => {
    const mails = await Promise.all(logins.map(({ email }) => service.mailbox.take(email)));
    await queueEmpty(service);
    for (const { email } of logins) expect(service.mailbox.mails.flatMap(({ to }) => to)).not.toContain(email);
    return mails;
  };
  const hex = (token: string) => hashToken(token).toString('hex');

  /** Returns the stored state of a session, with the numbers of related rows. */
  const stateOf = (login: MadeLogin) =>
    sessionRow(
      service,
      login,
      `
        ended_reason,
        encode(refresh_token_hash, 'hex') as current,
        encode(previous_refresh_token_hash, 'hex') as previous,
        (select count(*)::integer from rotations where rotations.session_id = sessions.session_id) as rotations,
        (
          select count(*)::integer
          from events
          where event_type = 'session.token_reused' and target_id = sessions.session_id
        ) as reuses,
        (select count(*)::integer from sessions others where others.user_id = sessions.user_id) as sessions`,
    );
  const unharmed = { ended_reason: null, reuses: 0, sessions: 1 };
  const foundReuse = { ended_reason: 'token_reuse', reuses: 1 };

  it('gives tabs that refresh at the same time the same successor, and ends no session (S9)', async () => {
    const logins = await addLogins(service, racing, { prefix: 'racer' });
    const lines = logins.map(({ refresh_token }) => [refresh_token]);
    for (let round = 0; round < rounds; round++) {
      const line = lines[round % racing] as string[];
      const current = line.at(-1) as string;
      const answers = await Promise.all(Array.from({ length: racers }, (_, index) => refresh(index, current)));
      const successors = answers.map(({ status, body }) => [status, body.refresh_token]);
      const next = refreshTokens.successor(current);
      expect([round, successors]).toEqual([round, Array(racers).fill([200, next])]);
      for (const index of [0, 1]) expect(await works(index + 1, answers[index]?.body.access_token)).toBe(200);
      line.push(next);
    }
    for (const [index, login] of logins.entries()) {
      const line = lines[index] as string[];
      const [previous, current] = line.slice(-2) as [string, string];
      const turns = rounds / racing;
      expect(new Set(line).size).toBe(turns + 1);
      const expected = { ...unharmed, rotations: turns, current: hex(current), previous: hex(previous) };
      expect(await stateOf(login)).toEqual(expected);
      expect((await refresh(index, current)).status).toBe(200);
    }
  });

  it('ends the session at the reuse of a token after the grace period, with an event and a mail (S8)', async () => {
    const logins = await addLogins(service, 4, { prefix: 'robbed' });
    for (const [number, login] of logins.entries()) {
      const r1 = await rotated(at(number), login.refresh_token);
      // The reused token is the predecessor, or older.
      const r2 = number < 2 ? r1 : await rotated(at(number + 1), r1.refresh_token);
      await moveBack(login, 10);
      expect((await refresh(number + 1, login.refresh_token)).status).toBe(401);
      expect((await refresh(number, r2.refresh_token)).status).toBe(401);
      await rejected(r1.token, r2.token);
      expect(await stateOf(login)).toMatchObject(foundReuse);
    }
    for (const { source } of await mailsTo(...logins))
      for (const { refresh_token, session_id } of logins)
        for (const secret of [refresh_token, session_id]) expect(source).not.toContain(secret);
  });

  it('ends the session once, with one event and one mail, for parallel reuses (S8)', async () => {
    const login = await made('mobbed');
    await rotated(at(0), login.refresh_token);
    await moveBack(login, 10);
    const answers = await Promise.all(
      Array.from({ length: racers }, (_, index) => refresh(index, login.refresh_token)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(racers).fill(401));
    expect(await stateOf(login)).toMatchObject(foundReuse);
    await mailsTo(login);
  });

  it.each(['events', 'graphile_worker._private_jobs'])(
    'changes nothing when a reuse cannot be reported to %s, and ends the session on the next reuse (S8)',
    async (table) => {
      const login = await made(`unreported-${table.slice(0, 5)}`);
      await rotated(at(0), login.refresh_token);
      await moveBack(login, 10);
      await service.rows(`
        create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
        create trigger refuse before insert on ${table} for each row execute function refuse()`);
      const { status } = await refresh(0, login.refresh_token).finally(() =>
        service.rows('drop function refuse cascade'),
      );
      expect(status).toBe(500);
      expect(await stateOf(login)).toMatchObject(unharmed);
      expect((await refresh(0, login.refresh_token)).status).toBe(401);
      expect(await stateOf(login)).toMatchObject(foundReuse);
      await mailsTo(login);
    },
  );

  it('repeats the successor of a lost response on the other instance, within the grace period only (S10)', async () => {
    const [login, late] = (await addLogins(service, 2, { prefix: 'lost' })) as [MadeLogin, MadeLogin];
    for (const lost of [login, late]) {
      const body = JSON.stringify({ refresh_token: lost.refresh_token });
      const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
      const connection = await RawConnection.open(service.port);
      await connection.send(requestHead('POST', '/auth/check-token', headers) + body);
      await until(async () => (await stateOf(lost))['rotations'] === 1);
      connection.socket.destroy();
    }
    await moveBack(login, 2);
    const again = await rotated(at(1), login.refresh_token);
    expect(again.refresh_token).toBe(refreshTokens.successor(login.refresh_token));
    expect(await works(0, again.token)).toBe(200);
    expect(await stateOf(login)).toMatchObject({ ...unharmed, rotations: 1 });
    await moveBack(late, 10);
    expect((await refresh(1, late.refresh_token)).status).toBe(401);
    expect(await stateOf(late)).toMatchObject({ ...foundReuse, rotations: 1 });
  });

  it('measures the grace period when a refresh arrives, not when a slow database responds (S10)', async () => {
    const login = await made('slow');
    const { refresh_token } = await rotated(other, login.refresh_token);
    const held = proxy.holdAnswerTo('previous_refresh_token_hash = refresh_token_hash');
    const second = rotated(other, login.refresh_token);
    await held;
    // The grace period ends in 10 ms, after the refresh arrived.
    await changeSession(service, login, `refreshed_at = clock_timestamp() - interval '9.99 s'`);
    const isOver = `refreshed_at < now() - interval '10 s' as is_over`;
    await until(async () => (await sessionRow(service, login, isOver))['is_over'] === true);
    proxy.release();
    expect((await second).refresh_token).toBe(refresh_token);
    expect(await stateOf(login)).toMatchObject(unharmed);
    expect((await refresh(0, login.refresh_token)).status).toBe(401);
    expect(await stateOf(login)).toMatchObject(foundReuse);
  });

  it('ends the session when a token is reused two rotations later within the grace period (S11)', async () => {
    const login = await made('twice');
    const r1 = await rotated(at(0), login.refresh_token);
    const r2 = await rotated(at(1), r1.refresh_token);
    expect((await refresh(0, login.refresh_token)).status).toBe(401);
    for (const token of [login.refresh_token, r1.refresh_token, r2.refresh_token])
      for (const index of [0, 1]) expect((await refresh(index, token)).status).toBe(401);
    await rejected(r1.token, r2.token);
    expect(await stateOf(login)).toMatchObject({ ...foundReuse, rotations: 2, current: hex(r2.refresh_token) });
  });

  it('revives no session that has ended or expired, even within the grace period (S11)', async () => {
    const [ended, expired] = (await addLogins(service, 2, { prefix: 'over' })) as [MadeLogin, MadeLogin];
    const e1 = await rotated(at(0), ended.refresh_token);
    const x1 = await rotated(at(0), expired.refresh_token);
    expect((await service.post('/auth/logout', { token: e1.token, body: {} })).status).toBe(204);
    await changeSession(service, expired, `expires_at = now() - interval '1 ms'`);
    for (const token of [ended.refresh_token, e1.refresh_token, expired.refresh_token, x1.refresh_token])
      for (const index of [0, 1]) {
        expect((await refresh(index, token)).status).toBe(401);
        // The session service issues no tokens for it either.
        const rotation = await at(index).inside<SessionsService>('SessionsService').rotate(token);
        expect(rotation.outcome).toBe('reused');
      }
    expect(await stateOf(ended)).toMatchObject({ ended_reason: 'logout', reuses: 0 });
    expect(await stateOf(expired)).toMatchObject({ ended_reason: null, reuses: 0 });
  });

  it('returns the current state of the session, not a cached one (S9)', async () => {
    const login = await service.loginAs();
    expect((await service.post('/auth/check-token', { body: { token: login.token } })).status).toBe(200);
    const stored = () => sessionRow(service, login, 'last_seen_at, expires_at');
    const before = await stored();
    for (const index of [0, 1]) {
      const { last_seen_at, expires_at } = (await refresh(index, login.refresh_token)).body.session;
      expect(await stored()).toEqual({ last_seen_at: new Date(last_seen_at), expires_at: new Date(expires_at) });
    }
    expect(await stored()).not.toEqual(before);
  });
});
