import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { SessionsService } from '../../../src/auth/sessions/sessions.service';
import { queueEmpty } from '../../support/links';
import { type TestAnswer, type TestLogin, TestService } from '../../support/in-process';
import { ServiceProcess } from '../../support/service-process';
import { decode, forge } from '../../support/tokens';

describe('refresh tokens', () => {
  let service: TestService;
  let other: ServiceProcess;
  let name: string;
  let email: string;
  beforeAll(async () => {
    service = await TestService.start();
    other = await ServiceProcess.beside(service);
    ({ name, email } = await service.createUser());
  });
  afterAll(async () => {
    await other.kill();
    await service.close();
  });

  const here = (refresh_token: string, token?: string): Promise<TestAnswer> =>
    service.post('/auth/check-token', { body: { refresh_token }, ...(token === undefined ? {} : { token }) });
  const there = (refresh_token: string): Promise<TestAnswer> =>
    other.send('POST', '/auth/check-token', { body: { refresh_token } });
  const works = async (token: string) => (await service.get('/user', { token })).status;
  const passGrace = ({ session_id }: TestLogin) =>
    service.rows(`update sessions set refreshed_at = refreshed_at - interval '10 s' where session_id = $1`, [
      session_id,
    ]);
  const state = async ({ session_id }: TestLogin) => {
    const [row] = await service.rows<{ ended_reason: string | null; reuses: number }>(
      `
        select
          ended_reason,
          (
            select count(*)::integer
            from events
            where event_type = 'session.token_reused' and target_id = sessions.session_id
          ) as reuses
        from sessions
        where session_id = $1`,
      [session_id],
    );
    return row;
  };

  it('ends the session at the reuse of an old token, records it and notifies the user (S8)', async () => {
    const login = await service.login(name);
    const r1 = (await here(login.refresh_token)).body;
    const r2 = (await here(r1.refresh_token)).body;
    await passGrace(login);
    expect((await here(login.refresh_token)).status).toBe(401);
    expect((await here(r2.refresh_token)).status).toBe(401);
    for (const token of [login.token, r1.access_token, r2.access_token]) expect(await works(token)).toBe(401);
    expect(await state(login)).toEqual({ ended_reason: 'token_reuse', reuses: 1 });
    const mail = await service.mailbox.take(email);
    for (const secret of [login.refresh_token, r2.refresh_token, login.session_id])
      expect(mail.source).not.toContain(secret);
    // A token that was never issued ends no session.
    const next = await service.login(name);
    const guess = Buffer.from(next.refresh_token, 'base64url');
    for (const index of [16, 40, 63]) {
      const changed = Buffer.from(guess);
      changed[index] = (changed[index] ?? 0) ^ 1;
      expect((await here(changed.toString('base64url'))).status).toBe(401);
    }
    expect((await here(next.refresh_token)).status).toBe(200);
  });

  it.each(['events', 'graphile_worker._private_jobs'])(
    'changes nothing when a reuse cannot be reported to %s, and ends the session on the next one (S8)',
    async (table) => {
      const login = await service.login(name);
      await here(login.refresh_token);
      await passGrace(login);
      await service.rows(`
        create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
        create trigger refuse before insert on ${table} for each row execute function refuse()`);
      const { status } = await here(login.refresh_token).finally(() => service.rows('drop function refuse cascade'));
      expect(status).toBe(500);
      expect(await state(login)).toEqual({ ended_reason: null, reuses: 0 });
      expect((await here(login.refresh_token)).status).toBe(401);
      expect(await state(login)).toEqual({ ended_reason: 'token_reuse', reuses: 1 });
      await service.mailbox.take(email);
      await queueEmpty(service);
      expect(service.mailbox.mails.filter(({ to }) => to.includes(email))).toEqual([]);
    },
  );

  it('rotates nothing beside an access token of another session (S8)', async () => {
    const [a, b] = [await service.login(name), await service.login(name)];
    expect((await here(a.refresh_token, b.token)).status).toBe(401);
    expect((await here(a.refresh_token, `${a.token.slice(0, -4)}AAAA`)).status).toBe(401);
    const [row] = await service.rows('select previous_refresh_token_hash from sessions where session_id = $1', [
      a.session_id,
    ]);
    expect(row).toEqual({ previous_refresh_token_hash: null });
    expect((await here(a.refresh_token, a.token)).status).toBe(200);
  });

  it('rejects a token whose signing key is unknown beside a refresh token, and rotates nothing (S8)', async () => {
    const [a, b] = [await service.login(name), await service.login(name)];
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const header = { alg: 'ES256', typ: 'at+jwt', kid: randomBytes(32).toString('base64url') };
    const [iat, exp] = [1_700_000_000, 1_700_000_600];
    const old = (claims: unknown) => forge(header, claims, privateKey);
    const claims = { ...decode(a.token), iat, exp };
    const wrong = [
      old({ ...claims, sid: b.session_id }),
      old({ ...claims, sid: undefined }),
      old('no JSON'),
      old(null),
    ];
    for (const token of wrong) expect([token, (await here(a.refresh_token, token)).status]).toEqual([token, 401]);
    expect((await here(a.refresh_token, forge({ ...header, jku: 'x' }, claims, privateKey))).status).toBe(401);
    expect((await here(a.refresh_token, old(claims))).status).toBe(401);
    const { status, body } = await here(a.refresh_token);
    expect([status, await works(body.access_token), await works(old(claims))]).toEqual([200, 200, 401]);
  });

  it('returns the current state of the session, not a cached one (S9)', async () => {
    const login = await service.loginAs();
    expect((await service.post('/auth/check-token', { body: { token: login.token } })).status).toBe(200);
    const stored = async () =>
      (
        await service.rows<Record<string, Date>>(
          'select last_seen_at, expires_at from sessions where session_id = $1',
          [login.session_id],
        )
      )[0];
    const before = await stored();
    for (const answer of [await here(login.refresh_token), await there(login.refresh_token)]) {
      const { last_seen_at, expires_at } = answer.body.session;
      expect(await stored()).toEqual({ last_seen_at: new Date(last_seen_at), expires_at: new Date(expires_at) });
    }
    expect(await stored()).not.toEqual(before);
  });

  it('returns the same successor within the grace period, and treats later use as reuse (S10)', async () => {
    const login = await service.login(name);
    const first = (await here(login.refresh_token)).body;
    await service.rows(`update sessions set refreshed_at = refreshed_at - interval '5 s' where session_id = $1`, [
      login.session_id,
    ]);
    const second = await here(login.refresh_token);
    expect([second.status, second.body.refresh_token]).toEqual([200, first.refresh_token]);
    await service.rows(`update sessions set refreshed_at = refreshed_at - interval '5 s' where session_id = $1`, [
      login.session_id,
    ]);
    expect((await here(login.refresh_token)).status).toBe(401);
    expect(await state(login)).toEqual({ ended_reason: 'token_reuse', reuses: 1 });
    expect((await here(first.refresh_token)).status).toBe(401);
  });

  it('revives no session that has ended or whose token is too old, even within the grace period (S11)', async () => {
    const ended = await service.login(name);
    const e1 = (await here(ended.refresh_token)).body;
    await service.post('/auth/logout', { token: e1.access_token, body: {} });
    for (const token of [ended.refresh_token, e1.refresh_token]) {
      expect((await there(token)).status).toBe(401);
      // The session service issues no tokens for it either.
      expect(await service.app.get(SessionsService, { strict: false }).rotate(token)).toMatchObject({
        outcome: 'reused',
      });
    }
    expect(await state(ended)).toEqual({ ended_reason: 'logout', reuses: 0 });

    const expired = await service.login(name);
    const x1 = (await here(expired.refresh_token)).body;
    await service.rows(`update sessions set expires_at = now() - interval '1 ms' where session_id = $1`, [
      expired.session_id,
    ]);
    for (const token of [expired.refresh_token, x1.refresh_token]) expect((await here(token)).status).toBe(401);
    expect(await state(expired)).toEqual({ ended_reason: null, reuses: 0 });
  });
});
