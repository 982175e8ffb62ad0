import type { LiveLoginsService } from '../../src/auth/tokens/live-logins.service';
import type { Notifications } from '../../src/platform/database/notifications.service';
import { addLogins, rotated } from '../support/made-logins';
import { type Revocation, revocations, type Victim } from '../support/revocations';
import { adminEmail, password, type TestLogin, TestService } from '../support/service';
import { ServiceProcess } from '../support/service-process';
import { changeSession, sessionRow } from '../support/session-rows';
import { TcpProxy } from '../support/tcp-proxy';
import { createTestDatabase } from '../support/test-database';
import { until } from '../support/until';

/** Ways in which the other instance learns of a change. */
const ways = ['a notification', 'the database, while its notification connection is cut'] as const;
type Way = (typeof ways)[number];
/** Time for which an instance trusts its memory without a response to its probe. */
const leaseMs = 1_000;

describe('revocations at another instance', () => {
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
  });
  afterAll(async () => {
    await there.kill();
    await requests.cut();
    await listening.cut();
    await service.close();
  });

  afterEach(() => listening.restore());

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
  /** Changes a login in the memory of the other instance, which learns of the change in a way. */
  const learning = async (way: Way, login: Login, change: () => Promise<unknown>) => {
    await cached(login);
    if (way !== 'a notification') {
      await listening.cut();
      await until(async () => !(await isCached(login)));
    }
    await change();
    if (way === 'a notification') await caughtUp();
  };

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

  describe.each(ways)('through %s', (way) => {
    it.each(Object.entries(revocations))('take effect: %s (S2, S7, S12, S16)', async (_kind, revocation) => {
      const victim = await warmed(revocation);
      await learning(way, victim, () => revocation.act(victim, service));
      const answer = await check(victim);
      const { isAfter = ({ status }) => status === 401, reason } = revocation;
      expect([answer.text, isAfter(answer)]).toEqual([answer.text, true]);
      expect(answer.headers['cache-control']).toBe('no-store');
      if (reason !== null) await staysEnded(victim, reason);
    });

    it('include narrower limits after a refresh, for older tokens of the session (J30, S16)', async () => {
      const { name, user_id } = await service.createUser({ roles: ['carrier_administrator'] });
      const limits = { audience: ['carrier-platform', 'billing'], permissions: ['user:read', 'user:update'] };
      const login = await service.post('/auth/login', { body: { login: name, password, ...limits } });
      const { access_token: token, session_id } = login.body;
      let { refresh_token } = login.body;
      const seen = async () => {
        const { status, body } = await there.get('/user', { token, ip: newIp() });
        return [status, body.permissions];
      };
      expect(await seen()).toEqual([200, limits.permissions]);
      for (const [narrower, expected] of [
        [{ permissions: ['user:read'] }, [200, ['user:read']]],
        [{ audience: ['billing'] }, [401, undefined]],
      ]) {
        await learning(way, { session_id, user_id, token }, async () => {
          const { status, body } = await service.post('/auth/check-token', { body: { refresh_token, ...narrower } });
          expect(status).toBe(200);
          ({ refresh_token } = body);
        });
        expect(await seen()).toEqual(expected);
        await listening.restore();
      }
    });
  });

  it('of fresh authentication end with a reauthentication on all instances, for all tokens (S24)', async () => {
    const login = await service.login(adminEmail);
    const { token } = login;
    const attempt = async (instance: ServiceProcess, by: string) =>
      (await instance.delete('/role/no-such-role', { token: by, ip: newIp() })).status;
    for (let round = 0; round < 5; round++) {
      await changeSession(service, login, `auth_time = now() - interval '10 minutes'`);
      await caughtUp();
      expect([await attempt(service, token), await attempt(there, token)]).toEqual([401, 401]);
      const { status, body } = await service.post('/auth/reauthenticate', { token, body: { password } });
      expect(status).toBe(200);
      const statuses = [await attempt(there, token), await attempt(there, body.access_token)];
      expect([...statuses, await attempt(service, token)]).toEqual([404, 404, 404]);
    }
  });

  describe('with late or lost notifications', () => {
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

    it('take effect although the session ends while it is read (S16)', async () => {
      const login = await service.loginAs();
      await caughtUp();
      const held = requests.holdAnswerTo('session_expires_at');
      const first = statusOf(login);
      await held;
      await end(login);
      await caughtUp();
      requests.release();
      expect([await first, await statusOf(login)]).toEqual([200, 401]);
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
});
