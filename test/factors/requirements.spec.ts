import type { RememberedActorsService } from '../../src/auth/tokens/remembered-actors.service';
import { enrolApp } from '../support/factors';
import { lockWaits } from '../support/locks';
import { Authenticator, firstStep } from '../support/second-factors';
import { password, type TestAnswer, type TestLogin, TestService } from '../support/service';

const [past, future] = ['2020-01-01T00:00:00.000Z', '2099-01-01T00:00:00.000Z'];
const codeOf = ({ status, body }: TestAnswer): string => `${status}${body?.code === undefined ? '' : ` ${body.code}`}`;

describe('requirements about second factors', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  describe('at a login', () => {
    const patch = (user_id: string, body: object, by: TestLogin = service.admin) =>
      service.patch(`/user/${user_id}`, { token: by.token, body });
    const require = (user_id: string, from: string | null, by?: TestLogin) =>
      patch(user_id, { second_factor_required_from: from }, by);
    const claimsOf = (token: string) =>
      JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { roles: string[] };

    /** Asserts whether a user has no roles and permissions until a second factor is enrolled. */
    async function assertRestricted({ user_id, token }: TestLogin, restricted: boolean): Promise<void> {
      const own = await service.get('/user', { token });
      expect([own.status, own.body.must_enroll_second_factor]).toEqual([200, restricted]);
      const checked = await service.post('/auth/check-token', { body: { token } });
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const asked = { token: service.admin.token, headers, body: `token=${token}` };
      expect([own.body.permissions.length > 0, checked.body.permissions.length > 0]).toEqual([
        !restricted,
        !restricted,
      ]);
      expect((await service.post('/auth/introspect', asked)).body.active).toBe(!restricted);
      expect(codeOf(await service.get('/user/list', { token }))).toBe(
        restricted ? '403 auth.second_factor_enrollment_required' : '200',
      );
      expect(codeOf(await service.get(`/user/${user_id}`, { token }))).toBe(
        restricted ? '403 auth.second_factor_enrollment_required' : '200',
      );
      expect(codeOf(await service.get('/auth/factor/list', { token }))).toBe('200');
      if (restricted)
        expect(codeOf(await service.post('/auth/reauthenticate', { token, body: { password } }))).toBe('200');
      const wrong = { current_password: 'wrong', new_password: 'seven bridges over a quiet river' };
      expect(codeOf(await service.post('/auth/password', { token, body: wrong }))).toBe(
        '400 auth.wrong_current_password',
      );
    }

    it('restricts a live session with the next request, and spares users with a factor', async () => {
      const user = await service.loginAs({ roles: ['carrier_administrator'] });
      await assertRestricted(user, false);
      expect((await require(user.user_id, future)).body.second_factor_required_from).toBe(future);
      await assertRestricted(user, false);
      await require(user.user_id, past);
      await assertRestricted(user, true);
      const again = await service.login(user.name);
      expect(claimsOf(again.token).roles).toEqual([]);
      await require(user.user_id, null);
      await assertRestricted(user, false);
      const enrolled = await service.loginAs({ roles: ['carrier_administrator'] });
      await enrolApp(service, enrolled);
      await require(enrolled.user_id, past);
      await assertRestricted(enrolled, false);
    });

    it('restricts the holders of a role, a built-in one too', async () => {
      const user = await service.loginAs({ roles: ['carrier_administrator'] });
      const role = (from: string | null) =>
        service.patch('/role/carrier_administrator', {
          token: service.admin.token,
          body: { second_factor_required_from: from },
        });
      const changed = await role(past);
      expect([changed.status, changed.body.second_factor_required_from]).toEqual([200, past]);
      await assertRestricted(user, true);
      await role(null);
      await assertRestricted(user, false);
      const events = await service.rows<{ changes: object }>(
        `select changes from events where event_type = 'role.changed' order by event_id`,
      );
      expect(events.at(0)?.changes).toMatchObject({ second_factor_required_from: { before: null, after: past } });
    });

    it('shows the change of the password first if both are required', async () => {
      const user = await service.loginAs({ must_change_password: true, second_factor_required_from: past });
      for (const path of ['/auth/factor/list', '/user/list'])
        expect(codeOf(await service.get(path, user))).toBe('403 auth.password_change_required');
    });

    it('continues an operation that was accepted before its actor had to enrol', async () => {
      const actor = await service.loginAs({ user_type: 'system', roles: ['operator'] });
      const work = {
        ...({ actor_type: 'user', actor_id: actor.user_id, session_id: actor.session_id } as const),
        ...{ ip: null, request_id: null, permission: 'user:update' as const },
      };
      await require(actor.user_id, past);
      await assertRestricted(actor, true);
      const remembered = await service.inside<RememberedActorsService>('RememberedActorsService').of(work);
      expect(remembered.permissions).toContain('user:update');
    });

    it("rejects a change of one's own time, or that of protected users or users outside the scope (M11)", async () => {
      const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
      const manager = await service.loginAs({ roles: ['carrier_administrator'] });
      const plain = await service.loginAs({ roles: ['carrier_user'] });
      const foreign = await service.createUser({ carrier_id: 'c2' });
      expect(codeOf(await require(service.admin.user_id, past))).toBe('403 user.self_protected');
      expect(codeOf(await require(service.admin.user_id, past, operator))).toBe('403 access.protected_user');
      expect(codeOf(await require(foreign.user_id, past, manager))).toBe('404 user.not_found');
      expect(codeOf(await require(plain.user_id, past, plain))).toBe('403 access.denied');
      expect(codeOf(await require(plain.user_id, past, manager))).toBe('200');
      for (const from of ['soon', '2026-02-30T00:00:00Z', 1, '2026-01-01'])
        expect(codeOf(await patch(plain.user_id, { second_factor_required_from: from }))).toBe('400 request.invalid');
    });

    it('requires a factor in bulk, previews it, records it, and undoes it', async () => {
      const users = [await service.createUser(), await service.createUser({ second_factor_required_from: past })];
      const url = `/user/all?user_id_in=${users.map(({ user_id }) => user_id).join()}`;
      const body = { second_factor_required_from: '2030-01-01T01:00:00.0009+01:00' };
      const preview = await service.patch(`${url}&dry_run=true`, { token: service.admin.token, body });
      expect(preview.body).toMatchObject({ matched: 2, would_change: 2 });
      const done = await service.patch(url, { token: service.admin.token, body });
      expect(done.body).toMatchObject({ changed: 2, unchanged: 0 });
      const times = () =>
        Promise.all(
          users.map(async ({ user_id }) => {
            const answer = await service.get(`/user/${user_id}`, service.admin);
            return answer.body.second_factor_required_from as string | null;
          }),
        );
      expect(await times()).toEqual(['2030-01-01T00:00:00.000Z', '2030-01-01T00:00:00.000Z']);
      const repeated = await service.patch(url, { token: service.admin.token, body });
      expect(repeated.body).toMatchObject({ changed: 0, unchanged: 2 });
      const undone = await service.post(`/user/operation/${done.body.operation_id}/undo`, service.admin);
      expect(undone.body).toMatchObject({ changed: 2, skipped_count: 0 });
      expect(await times()).toEqual([null, past]);
    });
  });

  describe('within a session', () => {
    const rows = (text: string, values: unknown[]) => service.rows(text, values);
    const post = (url: string, request: { body: object; ip?: string }) => service.post(url, request);
    const again = (token: string, body: object) => service.post('/auth/reauthenticate', { token, body });
    const age = (session_id: string) =>
      service.rows(`update sessions set auth_time = now() - interval '10 minutes' where session_id = $1`, [session_id]);
    const secondsAgo = async (token: string) => {
      const { body } = await service.post('/auth/check-token', { body: { token } });
      return (Date.now() - Date.parse(body.session.auth_time as string)) / 1_000;
    };

    it('renews auth_time for older access tokens, too, and issues a token with it (S24)', async () => {
      const { token, session_id, user_id } = await service.loginAs();
      await age(session_id);
      expect(await secondsAgo(token)).toBeGreaterThan(500);
      const { status, body } = await again(token, { password });
      expect([status, body.token_type, body.expires_in]).toEqual([200, 'Bearer', 600]);
      expect(await secondsAgo(token)).toBeLessThan(60);
      const claims = JSON.parse(Buffer.from(body.access_token.split('.')[1], 'base64url').toString());
      expect(claims).toMatchObject({ sid: session_id, amr: ['pwd'] });
      expect(Date.now() / 1_000 - claims.auth_time).toBeLessThan(60);
      const recorded = `select session_id from events where event_type = 'login.reauthenticated' and target_id = $1`;
      expect(await service.rows(recorded, [user_id])).toEqual([{ session_id }]);
    });

    it('counts wrong passwords like those of a login (L17)', async () => {
      const { token, session_id, name } = await service.loginAs();
      await age(session_id);
      const codes: string[] = [];
      for (let index = 0; index < 6; index++) codes.push((await again(token, { password: `${password}!` })).body.code);
      expect(codes).toEqual([...Array<string>(5).fill('auth.wrong_current_password'), 'auth.too_many_attempts']);
      expect((await post('/auth/login', { body: { login: name, password } })).status).toBe(429);
      expect(await secondsAgo(token)).toBeGreaterThan(500);
    });

    it('accepts codes and recovery codes once, but no password, from a user with a second factor (S24)', async () => {
      const { name, user_id } = await service.createUser();
      const app = await Authenticator.enrol(rows, user_id);
      const challenge = await firstStep(post, name);
      const login = (await post('/auth/second-factor', { body: { challenge, code: app.code() } })).body;
      const [token, recovery_code] = [login.access_token as string, await app.recoveryCode()];
      await age(login.session_id as string);
      expect((await again(token, { password })).body).toMatchObject({
        code: 'request.invalid',
        errors: [{ pointer: '/password', code: 'field.not_allowed' }],
      });
      expect((await again(token, { code: app.code() })).body.code).toBe('auth.invalid_second_factor');
      expect(await secondsAgo(token)).toBeGreaterThan(500);
      expect((await again(token, { code: app.code(1) })).status).toBe(200);
      expect(await secondsAgo(token)).toBeLessThan(60);
      await age(login.session_id as string);
      expect((await again(token, { recovery_code })).status).toBe(200);
      expect((await again(token, { recovery_code })).body.code).toBe('auth.invalid_second_factor');
      expect(await secondsAgo(token)).toBeLessThan(60);
    });

    it('accepts no password from a user who enrols a second factor meanwhile (S24)', async () => {
      const { token, user_id, session_id } = await service.loginAs();
      await age(session_id);
      const other = await service.sql.connect();
      try {
        await other.query('begin');
        await other.query(`update users set second_factors = '{totp}' where user_id = $1`, [user_id]);
        const answer = again(token, { password });
        await lockWaits(service);
        await other.query('commit');
        expect((await answer).body).toMatchObject({
          code: 'request.invalid',
          errors: [{ pointer: '/password', code: 'field.not_allowed' }],
        });
      } finally {
        other.release();
      }
      expect(await secondsAgo(token)).toBeGreaterThan(500);
    });

    it('requires exactly one proof, and a session that is live', async () => {
      const { token } = await service.loginAs();
      for (const body of [{}, { password, code: '123456' }, { challenge: 'x', password }])
        expect((await again(token, body)).body.code).toBe('request.invalid');
      await service.post('/auth/logout', { token });
      expect((await again(token, { password })).body.code).toBe('auth.token_invalid');
    });
  });
});
