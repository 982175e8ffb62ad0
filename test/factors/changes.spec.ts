import { Secret } from 'otpauth';
import { FactorSecrets } from '../../src/auth/second-factors/factor-secrets';
import type { FactorsService } from '../../src/auth/second-factors/factors.service';
import { runBuilt } from '../support/built-program';
import { codeAt, currentStep, enrolApp, forgetSteps, type TestApp } from '../support/factors';
import { createKey } from '../support/keys';
import { lockWaits } from '../support/locks';
import { addSession } from '../support/made-logins';
import { appSecret, type TestAnswer, type TestLogin, TestService } from '../support/service';
import { until } from '../support/until';

const newSecret = 'another-secret-9876543210-zyxwvutsrqp';
const codeOf = ({ status, body }: TestAnswer): string => `${status}${body?.code === undefined ? '' : ` ${body.code}`}`;

describe('changes of second factors', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(
      `insert into roles (name, user_types, permissions) values ('editor', '{system}', '{user:read,user:update}')`,
    );
  });
  afterAll(() => service.close());

  describe('of one user', () => {
    const factorsOf = async (login: TestLogin) =>
      (await service.get('/auth/factor/list', login)).body.items as object[];
    const remove = ({ token }: TestLogin, factor_id: string) => service.delete(`/auth/factor/${factor_id}`, { token });
    const reset = (login: TestLogin, user_id: string) => service.delete(`/user/${user_id}/factor/all`, login);
    const require = (user_id: string) =>
      service.rows(`update users set second_factor_required_from = now() - interval '1 minute' where user_id = $1`, [
        user_id,
      ]);
    const addChallenge = (user_id: string) =>
      service.rows(
        `
          insert into login_challenges (challenge_hash, user_id, counter_address, expires_at)
          values (sha256($1::text::bytea), $1::uuid, '', now() + interval '5 minutes')`,
        [user_id],
      );
    const challengesOf = (user_id: string) =>
      service.rows('select 1 from login_challenges where user_id = $1 and expires_at > now()', [user_id]);
    const endsOf = (user_id: string) =>
      service.rows<{ session_id: string; ended_reason: string | null }>(
        'select session_id, ended_reason from sessions where user_id = $1 order by created_at, session_id',
        [user_id],
      );

    it('ends the other sessions and unfinished logins, and notifies the user of a removal (M5, M9, S12)', async () => {
      const login = await service.loginAs();
      const { factor_id } = await enrolApp(service, login);
      await addSession(service, login.user_id);
      await addChallenge(login.user_id);
      expect((await remove(login, factor_id)).status).toBe(204);
      expect(await challengesOf(login.user_id)).toEqual([]);
      expect(await endsOf(login.user_id)).toMatchObject([
        { session_id: login.session_id, ended_reason: null },
        { ended_reason: 'factors_changed' },
      ]);
      expect((await service.get('/user', login)).body.second_factors).toEqual([]);
      await service.mailbox.take(login.email, /Subject: A second factor was removed/);
    });

    it('ends the unfinished logins of the user with every further factor, too (M4)', async () => {
      const login = await service.loginAs();
      await enrolApp(service, login);
      await addChallenge(login.user_id);
      await enrolApp(service, login);
      expect(await challengesOf(login.user_id)).toEqual([]);
    });

    it('keeps the last factor of a user who must have one', async () => {
      const login = await service.loginAs();
      const first = await enrolApp(service, login);
      const second = await enrolApp(service, login);
      await require(login.user_id);
      await addSession(service, login.user_id);
      expect((await remove(login, first.factor_id)).status).toBe(204);
      const last = await remove(login, second.factor_id);
      expect([last.status, last.body.code]).toEqual([409, 'factor.required']);
      expect(await factorsOf(login)).toMatchObject([{ factor_id: second.factor_id }]);
      const [codes] = await service.rows('select count(*)::integer from recovery_codes where user_id = $1', [
        login.user_id,
      ]);
      expect(codes).toEqual({ count: 10 });
    });

    it('keeps the last factor of a user whose role requires one', async () => {
      await service.post('/role/create', {
        token: service.admin.token,
        body: { name: 'strict', user_types: ['carrier'], permissions: [] },
      });
      const login = await service.loginAs({ roles: ['strict'] });
      const { factor_id } = await enrolApp(service, login);
      await service.rows(`update roles set second_factor_required_from = now() where name = 'strict'`);
      expect((await remove(login, factor_id)).body.code).toBe('factor.required');
      await service.rows(
        `update roles set second_factor_required_from = now() + interval '1 day' where name = 'strict'`,
      );
      expect((await remove(login, factor_id)).status).toBe(204);
    });

    it('removes exactly one of the last two factors in two concurrent requests', async () => {
      for (let round = 1; round <= 4; round++) {
        const login = await service.loginAs();
        const apps = [await enrolApp(service, login), await enrolApp(service, login)];
        await require(login.user_id);
        const answers = await Promise.all(apps.map(({ factor_id }) => remove(login, factor_id)));
        expect(answers.map(({ status }) => status).sort()).toEqual([204, 409]);
        expect(await factorsOf(login)).toHaveLength(1);
      }
    });

    it('is rejected in a session that ended while the request waited (S12)', async () => {
      const { token, user_id, session_id } = await service.loginAs();
      const other = await service.sql.connect();
      try {
        await other.query('begin');
        await other.query('select 1 from users where user_id = $1 for update', [user_id]);
        const adding = service.post('/auth/factor/totp', { token, body: {} });
        const waiting = `
          select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
        await until(async () => (await service.sql.query(waiting)).rows.length > 0);
        await other.query(`update sessions set ended_at = now(), ended_reason = 'revoked' where session_id = $1`, [
          session_id,
        ]);
        await other.query('commit');
        expect(codeOf(await adding)).toBe('401 auth.token_invalid');
      } finally {
        other.release();
      }
      expect(await service.rows('select 1 from second_factors where user_id = $1', [user_id])).toEqual([]);
    });

    it('needs a fresh authentication, except a new name (M5)', async () => {
      const login = await service.loginAs();
      const { factor_id } = await enrolApp(service, login);
      await service.rows(`update sessions set auth_time = now() - interval '10 minutes' where user_id = any($1)`, [
        [login.user_id, service.admin.user_id],
      ]);
      const { token } = login;
      const answers = [
        await service.post('/auth/factor/totp', { token, body: {} }),
        await service.post('/auth/factor/totp/confirm', { token, body: { factor_id, code: '123456' } }),
        await service.post('/auth/factor/recovery-codes', { token }),
        await remove(login, factor_id),
        await reset(service.admin, login.user_id),
      ];
      expect(answers.map(({ body }) => body.code)).toEqual(Array(5).fill('auth.reauthentication_required'));
      const renamed = await service.patch(`/auth/factor/${factor_id}`, { token, body: { name: 'Tablet' } });
      expect([renamed.status, renamed.body.name]).toEqual([200, 'Tablet']);
      expect(await factorsOf(login)).toMatchObject([{ factor_id, confirmed: true }]);
      await service.rows('update sessions set auth_time = now() where user_id = $1', [service.admin.user_id]);
    });

    it('records a new name, but no unchanged one', async () => {
      const login = await service.loginAs();
      const { factor_id } = await enrolApp(service, login);
      for (const name of ['Tablet', 'Tablet'])
        await service.patch(`/auth/factor/${factor_id}`, { token: login.token, body: { name } });
      const events = await service.rows(
        `select changes from events where event_type = 'factor.renamed' and target_id = $1`,
        [login.user_id],
      );
      expect(events).toMatchObject([{ changes: { name: { before: 'Authenticator app', after: 'Tablet' } } }]);
    });

    it.each(['', 'x'.repeat(65), 'a\u0000b', null, 5])('rejects the name %j', async (name) => {
      const { status, body } = await service.post('/auth/factor/totp', { token: service.admin.token, body: { name } });
      expect([status, body.errors]).toMatchObject([400, [{ pointer: '/name' }]]);
    });

    it('resets all factors of another user, and ends the sessions of the user', async () => {
      const login = await service.loginAs();
      await enrolApp(service, login);
      await enrolApp(service, login);
      await addChallenge(login.user_id);
      expect((await reset(service.admin, login.user_id)).status).toBe(204);
      expect((await service.get('/user', login)).status).toBe(401);
      expect(await endsOf(login.user_id)).toMatchObject([{ ended_reason: 'factors_changed' }]);
      expect(await challengesOf(login.user_id)).toEqual([]);
      const user = (await service.get(`/user/${login.user_id}`, service.admin)).body;
      expect(user.second_factors).toEqual([]);
      const listed = (await service.get(`/user/${login.user_id}/factor/list`, service.admin)).body;
      expect(listed).toEqual({ items: [], recovery_codes_left: 0 });
      const events = () =>
        service.rows(`select changes from events where event_type = 'factor.reset' and target_id = $1`, [
          login.user_id,
        ]);
      expect(await events()).toEqual([{ changes: { kinds: { before: ['totp', 'totp'], after: [] } } }]);
      await service.mailbox.take(login.email, /reset|removed/i);
      // A user without factors: nothing ends, and nothing is recorded.
      const again = await service.login(login.name);
      expect((await reset(service.admin, login.user_id)).status).toBe(204);
      expect((await service.get('/user', again)).status).toBe(200);
      expect(await events()).toHaveLength(1);
    });

    it('rejects a reset of stronger users, of oneself and with an API key (M11)', async () => {
      const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
      const administrator = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
      await enrolApp(service, administrator);
      const stronger = await reset(operator, administrator.user_id);
      expect([stronger.status, stronger.body.code]).toEqual([403, 'access.protected_user']);
      await enrolApp(service, operator);
      const own = await reset(operator, operator.user_id);
      expect([own.status, own.body.code]).toEqual([403, 'user.self_protected']);
      const { key: token } = await createKey(service, ['*']);
      const byKey = await service.delete(`/user/${operator.user_id}/factor/all`, { token });
      expect([byKey.status, byKey.body.code]).toEqual([403, 'access.denied']);
      expect(await factorsOf(administrator)).toHaveLength(1);
      expect(await factorsOf(operator)).toHaveLength(1);
      const carrierAdministrator = await service.loginAs({ roles: ['carrier_administrator'] });
      const foreign = await service.loginAs({ carrier_id: 'c2' });
      await enrolApp(service, foreign);
      expect((await reset(carrierAdministrator, foreign.user_id)).status).toBe(404);
      const colleague = await service.loginAs();
      await enrolApp(service, colleague);
      expect((await reset(carrierAdministrator, colleague.user_id)).status).toBe(204);
    });

    it('shows each kind of the confirmed factors once', async () => {
      const login = await service.loginAs();
      await enrolApp(service, login);
      await enrolApp(service, login);
      const read = await service.get(`/user/${login.user_id}`, service.admin);
      const listed = await service.get(`/user/list?user_id=${login.user_id}`, service.admin);
      for (const user of [read.body, listed.body.items[0], (await service.get('/user', login)).body])
        expect(user.second_factors).toEqual(['totp']);
      // Two factors, although of one kind: the first one can be removed.
      await require(login.user_id);
      const [first, second] = (await factorsOf(login)) as { factor_id: string }[];
      expect((await remove(login, first?.factor_id ?? '')).status).toBe(204);
      expect((await remove(login, second?.factor_id ?? '')).body.code).toBe('factor.required');
    });

    it('keeps the factors of deleted users for a restore, and erases them with a purge', async () => {
      const login = await service.loginAs();
      const { factor_id } = await enrolApp(service, login);
      const name = 'Private phone of Ada';
      await service.patch(`/auth/factor/${factor_id}`, { token: login.token, body: { name } });
      const path = `/user/${login.user_id}`;
      expect((await service.delete(path, service.admin)).status).toBe(204);
      expect((await service.get(`${path}/factor/list`, service.admin)).status).toBe(404);
      expect((await service.post(`${path}/restore`, service.admin)).body.second_factors).toEqual(['totp']);
      expect((await service.get(`${path}/factor/list`, service.admin)).body).toMatchObject({
        items: [{ factor_id, name, confirmed: true }],
        recovery_codes_left: 10,
      });
      expect((await service.delete(`${path}?purge=true`, service.admin)).status).toBe(204);
      for (const table of ['second_factors', 'recovery_codes', 'totp_steps'])
        expect(await service.rows(`select 1 from ${table} where user_id = $1`, [login.user_id])).toEqual([]);
      const events = await service.rows<{ event_type: string; changes: object }>(
        `select event_type, changes from events where event_type like 'factor.%' and target_id = $1 order by event_id`,
        [login.user_id],
      );
      expect(events.map(({ event_type }) => event_type)).toEqual(['factor.enrolled', 'factor.renamed']);
      expect(JSON.stringify(events)).not.toContain('phone');
    });

    it('never appears in an export', async () => {
      const login = await service.loginAs();
      const { factor_id } = await enrolApp(service, login);
      const { text } = await service.get(`/user/export?user_id=${login.user_id}`, service.admin);
      expect(text).toContain(login.email);
      expect(text).not.toMatch(new RegExp(`totp|factor|${factor_id}`));
    });
  });

  describe('in bulk', () => {
    type User = TestLogin & { name: string; email: string };
    async function enrolled(fields: Record<string, unknown> = {}): Promise<User> {
      const user = await service.loginAs(fields);
      await enrolApp(service, user);
      return user;
    }
    const send = (users: { user_id: string }[], body: object, { token }: { token: string } = service.admin, end = '') =>
      service.patch(`/user/all?user_id_in=${users.map(({ user_id }) => user_id).join()}${end}`, { token, body });
    const body = { reset_second_factors: true };
    const has = async (user_id: string) =>
      (await service.get(`/user/list?user_id=${user_id}&has_second_factor=true`, service.admin)).body.items.length ===
      1;

    it('removes factors, recovery codes and sessions, records each reset and mails each user', async () => {
      const [one, two, none] = [await enrolled(), await enrolled(), await service.loginAs()];
      const users = [one, two, none];
      const preview = await send(users, body, service.admin, '&dry_run=true');
      expect(preview.body).toMatchObject({ matched: 3, would_change: 2, unchanged: 1 });
      expect(await has(one.user_id)).toBe(true);
      const done = await send(users, body);
      expect(done.body).toMatchObject({ matched: 3, changed: 2, unchanged: 1, undo_until: null });
      expect([await has(one.user_id), await has(two.user_id)]).toEqual([false, false]);
      const ids = users.map(({ user_id }) => user_id);
      expect(await service.rows('select 1 from recovery_codes where user_id = any($1)', [ids])).toEqual([]);
      for (const { token } of [one, two]) expect((await service.get('/user', { token })).status).toBe(401);
      expect((await service.get('/user', none)).status).toBe(200);
      const events = await service.rows<{ target_id: string; changes: object }>(
        `select target_id, changes
         from events
         where operation_id = $1 and event_type = 'factor.reset'
         order by target_id`,
        [done.body.operation_id],
      );
      const changes = { kinds: { before: ['totp'], after: [] } };
      expect(events).toEqual([one, two].map(({ user_id }) => ({ target_id: user_id, changes })).sort(byTarget));
      for (const { email } of [one, two]) await service.mailbox.take(email, /were reset/);
      expect(codeOf(await service.post(`/user/operation/${done.body.operation_id}/undo`, service.admin))).toBe(
        '409 operation.not_undoable',
      );
      const version = async () => (await service.get(`/user/${one.user_id}`, service.admin)).body.version as number;
      expect(await version()).toBe(1);
    });

    it('undoes the fields that change together with a reset, and no reset', async () => {
      const [one, none] = [await enrolled(), await service.createUser()];
      const done = await send([one, none], { ...body, locale: 'de' });
      expect(done.body).toMatchObject({ changed: 2 });
      const undone = await service.post(`/user/operation/${done.body.operation_id}/undo`, service.admin);
      expect(undone.body).toMatchObject({ changed: 2, skipped_count: 0 });
      const { locale, second_factors } = (await service.get(`/user/${one.user_id}`, service.admin)).body;
      expect([locale, second_factors]).toEqual([null, []]);
    });

    it('skips protected users and the caller, and finds no user outside the scope (M11)', async () => {
      const [administrator, operator] = [
        await enrolled({ user_type: 'system', roles: ['administrator'] }),
        await enrolled({ user_type: 'system', roles: ['operator'] }),
      ];
      const reset = await send([administrator, operator], body, operator);
      expect(reset.body).toMatchObject({ matched: 2, changed: 0 });
      expect(
        new Map((reset.body.skipped as { user_id: string; reason: string }[]).map((s) => [s.user_id, s.reason])),
      ).toEqual(
        new Map([
          [administrator.user_id, 'access.protected_user'],
          [operator.user_id, 'user.self_protected'],
        ]),
      );
      const single = await service.delete(`/user/${administrator.user_id}/factor/all`, operator);
      expect(codeOf(single)).toBe('403 access.protected_user');
      const manager = await service.loginAs({ roles: ['carrier_administrator'] });
      expect((await send([administrator], body, manager)).body.matched).toBe(0);
      expect([await has(administrator.user_id), await has(operator.user_id)]).toEqual([true, true]);
    });

    it('rejects API keys, callers without user:reset_factors and old logins (M11)', async () => {
      const user = await enrolled();
      const editor = await service.loginAs({ user_type: 'system', roles: ['editor'] });
      const key = { token: (await createKey(service, ['*'])).key };
      for (const caller of [editor, key]) {
        expect(codeOf(await send([user], body, caller))).toBe('403 access.denied');
        expect(codeOf(await send([user], body, caller, '&dry_run=true'))).toBe('403 access.denied');
        expect(codeOf(await service.delete(`/user/${user.user_id}/factor/all`, caller))).toBe('403 access.denied');
      }
      const old = await service.loginAs({ user_type: 'system', roles: ['operator'] });
      await service.rows(`update sessions set auth_time = now() - interval '10 minutes' where session_id = $1`, [
        old.session_id,
      ]);
      expect(codeOf(await send([user], body, old))).toBe('401 auth.reauthentication_required');
      expect(await has(user.user_id)).toBe(true);
    });
  });

  describe('of their secrets', () => {
    const cli = (env: Record<string, string>, ...args: string[]) =>
      runBuilt('src/cli/cli.js', { DATABASE_URL: service.config.DATABASE_URL, ...env }, args);

    it('of an administrator are removed by admin-recover --reset-factors only', async () => {
      const login = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
      await enrolApp(service, login);
      const kinds = async () => (await service.get(`/user/${login.user_id}`, service.admin)).body.second_factors;
      const env = { APP_SECRET: appSecret };
      expect((await cli(env, 'admin-recover', login.name)).code).toBe(0);
      expect(await kinds()).toEqual(['totp']);
      const { code, stdout } = await cli(env, 'admin-recover', '--reset-factors', login.name);
      expect([code, stdout]).toEqual([0, expect.stringContaining('/auth/reset/')]);
      expect(await kinds()).toEqual([]);
      const events = await service.rows(
        `select actor_type from events where event_type = 'factor.reset' and target_id = $1`,
        [login.user_id],
      );
      expect(events).toEqual([{ actor_type: 'system' }]);
    });

    it('work only with the secret of their own user and factor (M1)', async () => {
      const factors = service.inside<FactorsService>('FactorsService');
      const [ada, eve] = [await service.loginAs(), await service.loginAs()];
      const [adasApp, evesApp] = [await enrolApp(service, ada), await enrolApp(service, eve)];
      const accepts = async ({ user_id }: TestLogin, { secret }: TestApp) => {
        await forgetSteps(service);
        return (await factors.acceptTotp(user_id, codeAt(secret, await currentStep(service)))) !== null;
      };
      expect(await accepts(ada, adasApp)).toBe(true);
      // Someone who can write the table lets Ada's factor accept the codes of Eve's app.
      await service.rows(
        `
          update second_factors
          set secret = (select secret from second_factors where factor_id = $2)
          where factor_id = $1`,
        [adasApp.factor_id, evesApp.factor_id],
      );
      expect([await accepts(ada, evesApp), await accepts(ada, adasApp)]).toEqual([false, false]);
    });

    // The last test: the command also encrypts the signing key with the new secret.
    it('are encrypted again by two commands at once during a removal, which count undecryptable ones', async () => {
      await service.rows('delete from second_factors');
      const login = await service.loginAs();
      const [removed, kept] = [await enrolApp(service, login), await enrolApp(service, login)];
      // More than two batches that no known secret decrypts, before and between the factors.
      await service.rows(
        `
          insert into second_factors (factor_id, user_id, kind, name, secret, confirmed_at)
          select
            case when n % 2 = 0 then gen_random_uuid() else lpad(n::text, 32, '0')::uuid end,
            $1, 'totp', 'foreign', decode('00000000', 'hex'), now()
          from generate_series(1, 1201) n`,
        [service.admin.user_id],
      );
      const rotation = { APP_SECRET: newSecret, APP_SECRET_PREVIOUS: appSecret };
      const unknown = await cli({ ...rotation, APP_SECRET_PREVIOUS: `${appSecret}-wrong` }, 'app-secret');
      // The signing key cannot be decrypted either, so the command does not start.
      expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('APP_SECRET')]);
      const holder = await service.sql.connect();
      await holder.query('begin');
      await holder.query('delete from second_factors where factor_id = $1', [removed.factor_id]);
      const both = [cli(rotation, 'app-secret'), cli(rotation, 'app-secret')];
      await lockWaits(service);
      await holder.query('commit');
      holder.release();
      for (const { code, stdout } of await Promise.all(both))
        expect([code, stdout]).toEqual([0, expect.stringContaining('decrypts: 1201.')]);
      await service.rows(`delete from second_factors where name = 'foreign'`);
      expect((await cli(rotation, 'app-secret')).stdout).toMatch(/Remove APP_SECRET_PREVIOUS 86400 s after/);
      const secrets = new FactorSecrets({ APP_SECRET: newSecret, APP_SECRET_PREVIOUS: undefined });
      const rows = await service.rows<{ factor_id: string; secret: Buffer }>(
        'select factor_id, secret from second_factors',
      );
      const opened = rows.map(({ factor_id, secret }) => [
        factor_id,
        secrets.decrypt({ user_id: login.user_id, factor_id }, secret),
      ]);
      expect(opened).toEqual([[kept.factor_id, Buffer.from(Secret.fromBase32(kept.secret).bytes)]]);
    });
  });
});

function byTarget(one: { target_id: string }, other: { target_id: string }): number {
  return one.target_id < other.target_id ? -1 : 1;
}
