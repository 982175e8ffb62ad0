import type { LiveLoginsService } from '../../src/auth/tokens/live-logins.service';
import type { Notifications } from '../../src/platform/database/notifications.service';
import { hashToken } from '../../src/platform/random';
import { createKey } from '../support/data/keys';
import { queueEmpty } from '../support/data/links';
import { query } from '../support/process/embedded-postgres-sandbox';
import { ReplicatedPostgres } from '../support/process/replicated-postgres';
import { addLogins, type MadeLogin, refreshTokens, rotated } from '../support/data/made-logins';
import { RawConnection, requestHead } from '../support/network/raw-connection';
import { type Revocation, revocations, type Victim } from '../support/data/revocations';
import { adminEmail, appSecret, password, type TestAnswer, type TestLogin, TestService } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { changeSession, sessionRow } from '../support/data/session-rows';
import { TcpProxy } from '../support/network/tcp-proxy';
import { createTestDatabase } from '../support/test-database';
import { until } from '../support/until';

/** Numbers of rounds, of tabs that refresh at once, and of sessions that share the rounds. */
const [rounds, tabs, racing] = [10, 10, 2];
/** Time for which an instance trusts its memory without a response to its probe. */
const leaseMs = 1_000;

describe('sessions on two instances', () => {
  let service: TestService;
  /** reaches the database through a proxy for requests and another one for notifications */
  let there: ServiceProcess;
  let requests: TcpProxy;
  let listening: TcpProxy;
  beforeAll(async () => {
    service = await TestService.start({ ACCESS_TOKEN_TTL_SECONDS: '3600', TOKEN_AUDIENCES: 'billing' });
    requests = await TcpProxy.start(service.config.DATABASE_URL);
    listening = await TcpProxy.start(service.config.DATABASE_URL);
    const urls = { DATABASE_URL: requests.url, DATABASE_DIRECT_URL: listening.url };
    const limits = { REQUESTS_PER_ADDRESS_PER_MINUTE: '1', SESSIONS_PER_USER_MAX: '1' };
    // The lease for commits uses DATABASE_DIRECT_URL too. It must not end while that hangs.
    there = await ServiceProcess.beside(service, { ...urls, ...limits, LIVE_LOGIN_LEASE_SECONDS: '300' });
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
    await there.kill();
    await requests.cut();
    await listening.cut();
    await service.close();
  });

  let numbers = 0;
  /** Returns a new address, because requests without a valid token are limited. */
  const newIp = () => `198.18.${++numbers >> 8}.${numbers & 255}`;
  /** Checks a token at the other instance. */
  const check = ({ token }: { token: string }, ip = newIp()) =>
    there.post('/auth/check-token', { body: { token }, ip });
  const statusOf = async (login: { token: string }, ip?: string) => (await check(login, ip)).status;
  /** Waits until all notifications have arrived at the other instance. */
  const caughtUp = () => there.inside<Notifications>('Notifications').caughtUp();
  type Login = Pick<Victim, 'session_id' | 'user_id' | 'token'>;
  /** Returns whether the other instance has a login in memory, and trusts its memory. */
  const isCached = async ({ session_id, user_id }: Login) =>
    (await there.inside<LiveLoginsService>('LiveLoginsService').cached(session_id, user_id)) !== null;
  const cached = (login: Login) => until(async () => (await statusOf(login)) === 200 && (await isCached(login)));
  /** Creates a user whose refreshed session the other instance has checked. */
  async function warmed({ users, prepare, isAfter }: Revocation): Promise<Victim> {
    const [login] = await addLogins(service, 1, { ...users, prefix: `victim-${++numbers}-` });
    if (login === undefined) throw new Error('no user');
    const victim = { ...login, ...(await rotated(service, login.refresh_token)), predecessor: login.refresh_token };
    await prepare?.(victim, service);
    await caughtUp();
    const answer = await check(victim);
    expect([answer.status, isAfter?.(answer)]).toEqual([200, isAfter && false]);
    return victim;
  }

  const at = (index: number): ServiceProcess => (index % 2 === 0 ? service : there);
  const refresh = (index: number, refresh_token: string, fields: object = {}): Promise<TestAnswer> =>
    at(index).post('/auth/check-token', { body: { refresh_token, ...fields }, ip: newIp() });
  const works = async (index: number, token: string) => (await at(index).get('/user', { token, ip: newIp() })).status;
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

  /** Checks that nothing revives a session, even a token within its grace period. */
  async function staysEnded({ user_id, session_id, token, ...victim }: Victim, reason: string): Promise<void> {
    if (reason === 'user_disabled')
      await service.patch(`/user/${user_id}`, { ...service.admin, body: { status: 'active' } });
    if (reason === 'user_deleted') await service.post(`/user/${user_id}/restore`, service.admin);
    for (const instance of [there, service]) {
      for (const refresh_token of [victim.predecessor, victim.refresh_token])
        expect((await instance.post('/auth/check-token', { body: { refresh_token }, ip: newIp() })).status).toBe(401);
      expect((await instance.get('/user', { token, ip: newIp() })).status).toBe(401);
    }
    const row = await sessionRow(service, { session_id }, 'ended_reason');
    expect(row).toEqual(reason === 'purged' ? {} : { ended_reason: reason });
  }

  describe('refresh tokens', () => {
    it('gives tabs that refresh at the same time the same successor, and ends no session (S9)', async () => {
      const logins = await addLogins(service, racing, { prefix: 'racer' });
      const lines = logins.map(({ refresh_token }) => [refresh_token]);
      for (let round = 0; round < rounds; round++) {
        const line = lines[round % racing] as string[];
        const current = line.at(-1) as string;
        const answers = await Promise.all(Array.from({ length: tabs }, (_, index) => refresh(index, current)));
        const successors = answers.map(({ status, body }) => [status, body.refresh_token]);
        const next = refreshTokens.successor(current);
        expect([round, successors]).toEqual([round, Array(tabs).fill([200, next])]);
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

    it('ends the session once, with one event and mail, if a token is reused after the grace period (S8)', async () => {
      const logins = await addLogins(service, 4, { prefix: 'robbed' });
      for (const [number, login] of logins.entries()) {
        const r1 = await rotated(at(number), login.refresh_token);
        // The reused token is the predecessor, or older.
        const r2 = number < 2 ? r1 : await rotated(at(number + 1), r1.refresh_token);
        await moveBack(login, 10);
        // Parallel reuses end the session once.
        const answers = await Promise.all([1, 2, 3, 4].map((turn) => refresh(number + turn, login.refresh_token)));
        answers.push(await refresh(number, r2.refresh_token));
        expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(401));
        await rejected(r1.token, r2.token);
        expect(await stateOf(login)).toMatchObject(foundReuse);
      }
      for (const { source } of await mailsTo(...logins))
        for (const { refresh_token, session_id } of logins)
          for (const secret of [refresh_token, session_id]) expect(source).not.toContain(secret);
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

    it('repeats the successor of a lost response on the other instance, only in the grace period (S10)', async () => {
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
      const { refresh_token } = await rotated(there, login.refresh_token);
      const held = requests.holdAnswerTo('previous_refresh_token_hash = refresh_token_hash');
      const second = rotated(there, login.refresh_token);
      await held;
      // The grace period ends in 10 ms, after the refresh arrived.
      await changeSession(service, login, `refreshed_at = clock_timestamp() - interval '9.99 s'`);
      const isOver = `refreshed_at < now() - interval '10 s' as is_over`;
      await until(async () => (await sessionRow(service, login, isOver))['is_over'] === true);
      requests.release();
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

  describe('revocations', () => {
    const assertAfter = async ({ isAfter = ({ status }) => status === 401 }: Revocation, victim: Victim) => {
      const answer = await check(victim);
      expect([answer.text, isAfter(answer)]).toEqual([answer.text, true]);
      expect(answer.headers['cache-control']).toBe('no-store');
    };

    it.each(Object.entries(revocations))(
      'take effect through a notification: %s (S2, S7, S12, S16)',
      async (_kind, revocation) => {
        const victim = await warmed(revocation);
        await cached(victim);
        await revocation.act(victim, service);
        await caughtUp();
        await assertAfter(revocation, victim);
        if (revocation.reason !== null) await staysEnded(victim, revocation.reason);
      },
    );

    it('take effect through the database while the connection for notifications is cut (S2, S12, S16)', async () => {
      const victims: [Revocation, Victim][] = [];
      for (const revocation of Object.values(revocations)) victims.push([revocation, await warmed(revocation)]);
      for (const [, victim] of victims) await cached(victim);
      await listening.cut();
      for (const [, victim] of victims) await until(async () => !(await isCached(victim)));
      for (const [revocation, victim] of victims) {
        await revocation.act(victim, service);
        await assertAfter(revocation, victim);
      }
      await listening.restore();
      await there.ready();
    });

    it('of an API key take effect through a notification (S7, S16)', async () => {
      const { key, key_id } = await createKey(service, ['user:read']);
      const status = async () => (await there.get('/user/list?count=none', { token: key, ip: newIp() })).status;
      expect(await status()).toBe(200);
      await service.delete(`/auth/key/${key_id}`, service.admin);
      // Without the notification, the key would work for a minute.
      await caughtUp();
      expect(await status()).toBe(401);
    });

    it('include narrower limits after a refresh, for older tokens of the session (J30, S16)', async () => {
      const { name, user_id } = await service.createUser({ roles: ['carrier_administrator'] });
      const limits = { audience: ['carrier-platform', 'billing'], permissions: ['user:read', 'user:update'] };
      const login = await service.post('/auth/login', { body: { login: name, password, ...limits } });
      const { access_token: token, session_id } = login.body;
      let { refresh_token } = login.body;
      for (const [narrower, expected] of [
        [{}, [200, limits.permissions]],
        [{ permissions: ['user:read'] }, [200, ['user:read']]],
        [{ audience: ['billing'] }, [401, undefined]],
      ]) {
        await cached({ session_id, user_id, token });
        ({ refresh_token } = (await refresh(0, refresh_token, narrower)).body);
        await caughtUp();
        const { status, body } = await there.get('/user', { token, ip: newIp() });
        expect([status, body.permissions]).toEqual(expected);
      }
    });

    it('of a fresh authentication end after a reauthentication, on all instances, for all tokens (S24)', async () => {
      const login = await service.login(adminEmail);
      const { token } = login;
      const attempt = async (instance: ServiceProcess, by: string) =>
        (await instance.delete('/role/no-such-role', { token: by, ip: newIp() })).status;
      for (let round = 0; round < 2; round++) {
        await changeSession(service, login, `auth_time = now() - interval '10 minutes'`);
        await caughtUp();
        expect([await attempt(service, token), await attempt(there, token)]).toEqual([401, 401]);
        const { status, body } = await service.post('/auth/reauthenticate', { token, body: { password } });
        expect(status).toBe(200);
        const statuses = [await attempt(there, token), await attempt(there, body.access_token)];
        expect([...statuses, await attempt(service, token)]).toEqual([404, 404, 404]);
      }
    });
  });

  describe('revocations with late or lost notifications', () => {
    afterEach(async () => {
      await requests.restore();
      await listening.restore();
      await there.ready();
    });

    const end = (login: Login) => changeSession(service, login, `ended_at = now(), ended_reason = 'revoked'`);
    /** Returns a login that the other instance has in memory. */
    const known = async (): Promise<TestLogin & { name: string }> => {
      const login = await service.loginAs();
      await cached(login);
      return login;
    };

    it('need no database query of the other instance after the notification (S16)', async () => {
      const [login, ended] = [await known(), await known()];
      await end(ended);
      await caughtUp();
      await requests.cut();
      await until(async () => (await statusOf(login)) === 200);
      expect(await statusOf(ended)).toBe(503);
      await requests.restore();
      expect([await statusOf(login), await statusOf(ended)]).toEqual([200, 401]);
    });

    it('are read from the database until a lost connection is open again (S16)', async () => {
      const login = await known();
      await listening.cut();
      await until(async () => !(await isCached(login)));
      expect([await statusOf(login), await isCached(login)]).toEqual([200, false]);
      await end(login);
      expect(await statusOf(login)).toBe(401);
      await listening.restore();
      await known();
      expect(await statusOf(login)).toBe(401);
    });

    it('are read from the database from a second after the connection hangs until it works (S16, F29)', async () => {
      const [login, other] = [await known(), await known()];
      listening.freeze();
      await end(login);
      await there.inside<{ pass: (ms: number) => void }>('Clock').pass(leaseMs);
      expect([await statusOf(login), await statusOf(other), await isCached(other)]).toEqual([401, 200, false]);
      await listening.restore();
      await cached(other);
      expect(await statusOf(login)).toBe(401);
    });

    it('take effect before the response to a reuse from a limited address (S8, S16)', async () => {
      const login = await known();
      const { refresh_token } = login;
      await rotated(there, refresh_token);
      await changeSession(service, login, `refreshed_at = refreshed_at - interval '11 s'`);
      const ip = newIp();
      expect([await statusOf({ token: 'none of ours' }, ip), await statusOf(login, ip)]).toEqual([401, 200]);
      listening.freeze();
      expect((await there.post('/auth/check-token', { body: { refresh_token }, ip })).status).toBe(429);
      expect(await statusOf(login)).toBe(401);
    });

    it('take effect before the response to a login that ends another session (S13, S16)', async () => {
      const user = await known();
      listening.freeze();
      const login = await there.post('/auth/login', { body: { login: user.name, password } });
      expect([login.status, await statusOf(user)]).toEqual([200, 401]);
    });

    it('are read from the database behind a pooler that delivers no notification, which is logged (S16)', async () => {
      listening.swallow('instance_proof');
      await listening.cut();
      await listening.restore();
      await until(() => there.output.includes('DATABASE_DIRECT_URL must bypass any pooler'));
      const login = await service.loginAs();
      for (let round = 0; round < 3; round++)
        expect([await statusOf(login), await isCached(login)]).toEqual([200, false]);
      await end(login);
      expect(await statusOf(login)).toBe(401);
    });

    it('need a DATABASE_DIRECT_URL of the same database, without which the start fails (S16, F28)', async () => {
      const elsewhere = await createTestDatabase();
      const { APP_SECRET, DATABASE_URL } = service.config;
      const urls = { DATABASE_URL, DATABASE_DIRECT_URL: elsewhere.url };
      const refused = new ServiceProcess({ ...urls, APP_SECRET, LOG_LEVEL: 'silent' });
      const message = 'DATABASE_DIRECT_URL and DATABASE_URL must lead to the same database.\n';
      expect([await refused.exit, refused.output]).toEqual([1, message]);
      await elsewhere.drop();
    });
  });

  // The last test, because it stops the other instance.
  it('have their activity recorded before an instance stops', async () => {
    const login = await service.loginAs();
    await changeSession(service, login, `last_seen_at = last_seen_at - interval '1 hour'`);
    await caughtUp();
    expect((await there.get('/user', { token: login.token, ip: newIp() })).status).toBe(200);
    expect(await there.stop()).toBe(0);
    const isRecent = `last_seen_at > now() - interval '10 minutes' as is_recent`;
    expect(await sessionRow(service, login, isRecent)).toEqual({ is_recent: true });
  });
});

describe('checks of tokens at a primary without standbys', () => {
  let servers: ReplicatedPostgres;
  let proxy: TcpProxy;
  let instance: ServiceProcess;
  let other: ServiceProcess | null = null;
  beforeAll(async () => {
    servers = await ReplicatedPostgres.start();
    proxy = await TcpProxy.start(servers.primary);
    instance = await start(proxy.url);
  });
  afterAll(async () => {
    await Promise.all([instance.kill(), other?.kill()]);
    await proxy.cut();
    await servers.stop();
  });

  const start = (DATABASE_URL: string) =>
    ServiceProcess.start({
      ...{ DATABASE_URL, APP_SECRET: appSecret, ADMIN_EMAIL: adminEmail, ADMIN_PASSWORD: password },
      ...{ LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '0', REQUESTS_PER_ADDRESS_PER_MINUTE: '0' },
      LIVE_LOGIN_LEASE_SECONDS: '2',
    });
  const check = ({ token }: TestLogin) => instance.post('/auth/check-token', { body: { token } });
  /** Waits until a token is accepted. The lease can end for a moment on a busy machine. */
  const works = (login: TestLogin) => until(async () => (await check(login)).status === 200);
  const unavailable = (answer: TestAnswer) => {
    expect(answer).toMatchObject({ status: 503, body: { code: 'service.database_unavailable' } });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  };
  /** Returns the processes that renew the lease and wait for standbys. */
  const waiting = async (): Promise<number[]> => {
    const lease = `application_name = 'carrier-identity lease' and wait_event = 'SyncRep'`;
    return (await servers.onPrimary(`select pid from pg_stat_activity where ${lease}`)).map(({ pid }) => Number(pid));
  };
  /** Waits for another process that waits for standbys. */
  const nextWaiting = async (last: number, meanwhile?: () => Promise<void>): Promise<number> => {
    let next: number | undefined;
    await until(async () => {
      await meanwhile?.();
      return (next = (await waiting()).find((pid) => pid !== last)) !== undefined;
    });
    return next as number;
  };

  it('checks no tokens while standbys are frozen, also if commits of the role do not wait (F40)', async () => {
    const login = await instance.login(adminEmail);
    await works(login);
    await servers.onPrimary('alter role carrier_identity set synchronous_commit = off');
    await servers.waitFor('a_frozen_standby');
    await until(async () => (await check(login)).status !== 200);
    unavailable(await check(login));

    // A canceled wait is no acknowledgement, although the commit succeeds with a warning. Only the
    // second commit began recently enough to renew the lease.
    const first = await nextWaiting(0);
    await servers.onPrimary(`select pg_cancel_backend(${first})`);
    const second = await nextWaiting(first);
    await servers.onPrimary(`select pg_cancel_backend(${second})`);
    const third = await nextWaiting(second, async () => unavailable(await check(login)));
    // The process stops waiting once a new connection has replaced its connection.
    await nextWaiting(third);
    await until(async () => !(await waiting()).includes(third));
    unavailable(await check(login));

    await servers.waitFor('*');
    await servers.onPrimary('alter role carrier_identity reset synchronous_commit');
    await instance.ready();
    await works(login);
  });

  it('rejects a session that ended on the new primary, first with 503, then with 401 (F5, F40)', async () => {
    const [kept, ended] = [await instance.login(adminEmail), await instance.login(adminEmail)];
    for (const login of [kept, ended]) await works(login);

    const stored = `select 1 from sessions where session_id in ('${kept.session_id}', '${ended.session_id}')`;
    await until(async () => (await query(servers.standby, stored)).length === 2);
    await servers.promote();
    other = await start(servers.standby);
    const path = `/auth/session/${ended.session_id}`;
    expect((await other.delete(path, kept)).status).toBe(204);

    // Only the lease can stop the old instance, which knows nothing about the failover.
    await until(async () => (await check(ended)).status !== 200);
    const { token, refresh_token } = kept;
    unavailable(await check(ended));
    unavailable(await check(kept));
    unavailable(await instance.post('/auth/check-token', { body: { refresh_token } }));
    unavailable(await instance.get('/user', { token }));
    unavailable(await instance.get('/health/ready'));

    // No connection is closed: the instance itself must replace its connections.
    proxy.moveTo(servers.standby);
    await instance.ready();
    await works(kept);
    expect((await check(ended)).status).toBe(401);
  });
});
