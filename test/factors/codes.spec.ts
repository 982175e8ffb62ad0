import { createHash, randomUUID } from 'node:crypto';
import { URI } from 'otpauth';
import type { FactorsService } from '../../src/auth/second-factors/factors.service';
import { codeAt, confirmApp, currentStep, enrolApp, forgetSteps, withinStep } from '../support/factors';
import { addSession } from '../support/made-logins';
import { type TestLogin, TestService } from '../support/service';

describe('codes of a second factor', () => {
  let service: TestService;
  let factors: ReturnType<typeof service.inside<FactorsService>>;
  beforeAll(async () => {
    service = await TestService.start();
    factors = service.inside<FactorsService>('FactorsService');
  });
  afterAll(() => service.close());

  describe('of an authenticator app', () => {
    const add = async ({ token }: TestLogin) =>
      (await service.post('/auth/factor/totp', { token, body: {} })).body as { factor_id: string; secret: string };
    const confirm = ({ token }: TestLogin, factor_id: string, code: unknown) =>
      service.post('/auth/factor/totp/confirm', { token, body: { factor_id, code } });
    const list = async ({ token }: TestLogin) => (await service.get('/auth/factor/list', { token })).body;
    const count = async (text: string, user_id: string) => (await service.rows(text, [user_id])).length;

    it('shows a secret of 160 bits once, as text, URI and QR code', async () => {
      const login = await service.loginAs();
      const { status, body } = await service.post('/auth/factor/totp', { token: login.token, body: { name: 'Phone' } });
      expect(status).toBe(201);
      expect(body.secret).toMatch(/^[A-Z2-7]{32}$/);
      const uri = URI.parse(body.otpauth_uri);
      expect(uri).toMatchObject({ issuer: 'carrier-identity', label: login.name, digits: 6, period: 30 });
      expect([uri.secret.base32, uri.algorithm]).toEqual([body.secret, 'SHA1']);
      expect(body.qr_svg).toMatch(/^<svg [^]*<\/svg>\s*$/);
      const [row] = await service.rows<{ secret: Buffer }>('select secret from second_factors where factor_id = $1', [
        body.factor_id,
      ]);
      expect(row?.secret.includes(Buffer.from(uri.secret.bytes))).toBe(false);
      expect(JSON.stringify(await list(login))).not.toContain(body.secret);
    });

    it('has no effect before the confirmation', async () => {
      const login = await service.loginAs();
      const other = await service.login(login.name);
      const { factor_id, secret } = await add(login);
      expect((await list(login)).items).toMatchObject([{ factor_id, confirmed: false, name: 'Authenticator app' }]);
      expect((await service.get('/user', login)).body.second_factors).toEqual([]);
      expect(await factors.available(login.user_id)).toEqual([]);
      expect(await factors.acceptTotp(login.user_id, codeAt(secret, await currentStep(service)))).toBeNull();
      expect((await service.get('/user', other)).status).toBe(200);
      expect((await service.get(`/user/${login.user_id}/factor/list`, service.admin)).body.items).toEqual([]);
    });

    it('ends all other logins with the first factor, and adds mfa to the session that enrolled it (M9)', async () => {
      const login = await service.loginAs();
      const other = await service.login(login.name);
      const stranger = await service.loginAs();
      for (const { user_id } of [login, stranger])
        await service.rows(
          `
            insert into login_challenges (challenge_hash, user_id, counter_address, expires_at)
            values (sha256($1::text::bytea), $1::uuid, '', now() + interval '5 minutes')`,
          [user_id],
        );
      await service.rows(`update sessions set auth_time = now() - interval '2 minutes' where session_id = $1`, [
        login.session_id,
      ]);
      const { factor_id, secret, recovery_codes } = await enrolApp(service, login);
      expect(recovery_codes).toHaveLength(10);
      const challenges = 'select 1 from login_challenges where user_id = $1 and expires_at > now()';
      expect([await count(challenges, login.user_id), await count(challenges, stranger.user_id)]).toEqual([0, 1]);
      expect((await service.get('/user', other)).status).toBe(401);
      expect((await service.get('/user', stranger)).status).toBe(200);
      const { items } = (await service.get('/auth/session/list', login)).body;
      const [ended, own] = [other, login].map(({ session_id }) =>
        items.find((item: { session_id: string }) => item.session_id === session_id),
      );
      expect(ended).toMatchObject({ active: false, ended_reason: 'factors_changed' });
      expect(own).toMatchObject({ active: true, amr: ['pwd', 'otp', 'mfa'] });
      expect(Date.parse(own.auth_time)).toBeGreaterThan(Date.now() - 60_000);
      expect((await service.get('/user', login)).body.second_factors).toEqual(['totp']);
      expect(await factors.available(login.user_id)).toEqual(['totp', 'recovery_code']);
      expect((await service.mailbox.take(login.email)).source).not.toContain(secret);
      const [event] = await service.rows<{ text: string }>(
        `select changes::text as text from events where event_type = 'factor.enrolled' and target_id = $1`,
        [login.user_id],
      );
      expect(event?.text).toContain(factor_id);
      expect(event?.text).not.toContain(secret);
    });

    it('ends no session and returns no codes as the second factor, and a user has at most two', async () => {
      const login = await service.loginAs();
      await enrolApp(service, login);
      await addSession(service, login.user_id);
      const second = await enrolApp(service, login);
      expect(second.recovery_codes).toEqual([]);
      expect(await count('select 1 from sessions where user_id = $1 and ended_at is null', login.user_id)).toBe(2);
      const third = await service.post('/auth/factor/totp', { token: login.token, body: {} });
      expect([third.status, third.body.code]).toEqual([409, 'factor.too_many']);
      const code = codeAt(second.secret, await currentStep(service));
      expect(await factors.acceptTotp(login.user_id, code)).toBe(second.factor_id);
    });

    it('accepts the codes of one step before and after the current step, and no others (M6)', async () => {
      const login = await service.loginAs();
      const { factor_id, secret } = await enrolApp(service, login);
      const accepted = await withinStep(service, async (step) => {
        const results: Record<string, string | null> = {};
        for (const offset of [-2, -1, 1, 2]) {
          await forgetSteps(service);
          results[`step ${offset}`] = await factors.acceptTotp(login.user_id, codeAt(secret, step + offset));
        }
        return results;
      });
      expect(accepted).toEqual({ 'step -2': null, 'step -1': factor_id, 'step 1': factor_id, 'step 2': null });
    });

    it('is confirmed only by a code of one step before or after the current step (M6)', async () => {
      const login = await service.loginAs();
      const { factor_id, secret } = await add(login);
      const far = await withinStep(service, async (step) => {
        await service.rows('update second_factors set wrong_codes = 0 where factor_id = $1', [factor_id]);
        const late = await confirm(login, factor_id, codeAt(secret, step - 2));
        return [late.status, (await confirm(login, factor_id, codeAt(secret, step + 2))).status];
      });
      expect(far).toEqual([400, 400]);
      expect((await confirm(login, factor_id, codeAt(secret, (await currentStep(service)) + 1))).status).toBe(200);
    });

    it('accepts a code once, however many requests race (M1)', async () => {
      const login = await service.loginAs();
      const { factor_id, secret } = await enrolApp(service, login);
      const code = codeAt(secret, await currentStep(service));
      const results = await Promise.all(Array.from({ length: 24 }, () => factors.acceptTotp(login.user_id, code)));
      expect(results.filter((result) => result !== null)).toEqual([factor_id]);
      expect(await factors.acceptTotp(login.user_id, code)).toBeNull();
    });

    it('is confirmed once, however many requests race (M1)', async () => {
      const login = await service.loginAs();
      const added = await add(login);
      const code = codeAt(added.secret, await currentStep(service));
      const answers = await Promise.all(Array.from({ length: 20 }, () => confirm(login, added.factor_id, code)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(19).fill(404)]);
      expect(await count('select 1 from recovery_codes where user_id = $1', login.user_id)).toBe(10);
    });

    it('does not accept the code of the enrolment, or of an earlier step, again (M1)', async () => {
      const login = await service.loginAs();
      const added = await add(login);
      const results = await withinStep(service, async (step) => {
        await forgetSteps(service);
        await service.rows('update second_factors set confirmed_at = null where factor_id = $1', [added.factor_id]);
        return [
          (await confirm(login, added.factor_id, codeAt(added.secret, step))).status,
          await factors.acceptTotp(login.user_id, codeAt(added.secret, step)),
          await factors.acceptTotp(login.user_id, codeAt(added.secret, step - 1)),
          await factors.acceptTotp(login.user_id, codeAt(added.secret, step + 1)),
        ];
      });
      expect(results).toEqual([200, null, null, added.factor_id]);
    });

    it('is not confirmed by a step that another app of the user used (M1)', async () => {
      const login = await service.loginAs();
      const first = await enrolApp(service, login);
      const second = await add(login);
      const results = await withinStep(service, async (step) => {
        await forgetSteps(service);
        await service.rows('update second_factors set wrong_codes = 0 where factor_id = $1', [second.factor_id]);
        return [
          await factors.acceptTotp(login.user_id, codeAt(first.secret, step)),
          (await confirm(login, second.factor_id, codeAt(second.secret, step))).status,
        ];
      });
      expect(results).toEqual([first.factor_id, 400]);
    });

    it('is removed after five wrong codes at the confirmation (M3)', async () => {
      const login = await service.loginAs();
      const { factor_id, secret } = await add(login);
      const wrong = codeAt(secret, (await currentStep(service)) + 1_000);
      for (let attempt = 1; attempt <= 5; attempt++) {
        const { status, body } = await confirm(login, factor_id, wrong);
        expect([status, body.errors]).toMatchObject([400, [{ pointer: '/code' }]]);
      }
      const late = await confirmApp(service, login, { factor_id, secret });
      expect([late.status, late.body.code]).toEqual([404, 'factor.not_found']);
      expect((await list(login)).items).toEqual([]);
    });

    it.each(['12345', '123 456', '１２３４５６', '12345\n', '', 123_456, null, ['123456']])(
      'rejects the code %j with 400',
      async (code) => {
        const { status, body } = await confirm(service.admin, randomUUID(), code);
        expect([status, body.errors]).toMatchObject([400, [{ pointer: '/code' }]]);
      },
    );

    it('is replaced while unconfirmed, and removed after 10 minutes', async () => {
      const login = await service.loginAs();
      const first = await add(login);
      const second = await add(login);
      expect((await confirmApp(service, login, first)).status).toBe(404);
      await service.rows(`update second_factors set created_at = now() - interval '11 minutes' where factor_id = $1`, [
        second.factor_id,
      ]);
      expect((await list(login)).items).toEqual([]);
      expect((await confirmApp(service, login, second)).status).toBe(404);
      expect((await service.delete(`/auth/factor/${second.factor_id}`, login)).status).toBe(404);
      const young = await add(await service.loginAs());
      await factors.removeExpired();
      const left = await service.rows('select factor_id from second_factors where factor_id = any($1)', [
        [second.factor_id, young.factor_id],
      ]);
      expect(left).toEqual([{ factor_id: young.factor_id }]);
    });

    it('is confirmed, renamed and removed only by its user', async () => {
      const [owner, thief] = [await service.loginAs(), await service.loginAs()];
      const added = await add(owner);
      expect((await confirmApp(service, thief, added)).status).toBe(404);
      expect((await confirmApp(service, owner, added)).status).toBe(200);
      const path = `/auth/factor/${added.factor_id}`;
      expect((await service.patch(path, { token: thief.token, body: { name: 'mine' } })).status).toBe(404);
      expect((await service.delete(path, thief)).status).toBe(404);
      expect((await service.patch(path, { token: owner.token, body: { name: 'Tablet' } })).body.name).toBe('Tablet');
      expect((await list(owner)).items).toMatchObject([{ name: 'Tablet', confirmed: true }]);
    });
  });

  describe('for recovery', () => {
    const renew = ({ token }: TestLogin) => service.post('/auth/factor/recovery-codes', { token });
    const codesLeft = async (login: TestLogin) =>
      (await service.get('/auth/factor/list', login)).body.recovery_codes_left;

    it('has 120 random bits, and is stored only as SHA-256 (M7)', async () => {
      const login = await service.loginAs();
      const { recovery_codes } = await enrolApp(service, login);
      expect(new Set(recovery_codes).size).toBe(10);
      for (const code of recovery_codes) expect(code).toMatch(/^([A-Z2-7]{4}-){5}[A-Z2-7]{4}$/);
      const stored = await service.rows<{ code_hash: Buffer }>(
        'select code_hash from recovery_codes where user_id = $1',
        [login.user_id],
      );
      const expected = recovery_codes.map((code) =>
        createHash('sha256').update(code.replaceAll('-', '')).digest('hex'),
      );
      expect(stored.map(({ code_hash }) => code_hash.toString('hex')).sort()).toEqual(expected.sort());
    });

    it('is accepted with or without separators, in any case (M7)', async () => {
      const login = await service.loginAs();
      const { recovery_codes } = await enrolApp(service, login);
      const [first = '', second = '', third = '', fourth = ''] = recovery_codes;
      expect(await factors.useRecoveryCode(login.user_id, first)).toBe(9);
      expect(await factors.useRecoveryCode(login.user_id, second.replaceAll('-', ''))).toBe(8);
      expect(await factors.useRecoveryCode(login.user_id, third.toLowerCase())).toBe(7);
      expect(await factors.useRecoveryCode(login.user_id, ` ${fourth.replaceAll('-', ' ').toLowerCase()}\n`)).toBe(6);
      expect(await codesLeft(login)).toBe(6);
    });

    it('is used once, however many requests race (M7)', async () => {
      const login = await service.loginAs();
      const { recovery_codes } = await enrolApp(service, login);
      const [code = ''] = recovery_codes;
      const results = await Promise.all(Array.from({ length: 20 }, () => factors.useRecoveryCode(login.user_id, code)));
      expect(results.filter((left) => left !== null)).toEqual([9]);
      expect(await factors.useRecoveryCode(login.user_id, code)).toBeNull();
    });

    it('belongs to one user (M7)', async () => {
      const [owner, thief] = [await service.loginAs(), await service.loginAs()];
      const { recovery_codes } = await enrolApp(service, owner);
      await enrolApp(service, thief);
      expect(await factors.useRecoveryCode(thief.user_id, recovery_codes[0] ?? '')).toBeNull();
      expect(await codesLeft(owner)).toBe(10);
    });

    it('becomes invalid when new ones are created (M7)', async () => {
      const login = await service.loginAs();
      const { recovery_codes } = await enrolApp(service, login);
      const { status, body } = await renew(login);
      expect([status, body.recovery_codes.length]).toEqual([200, 10]);
      for (const code of recovery_codes) expect(await factors.useRecoveryCode(login.user_id, code)).toBeNull();
      expect(await factors.useRecoveryCode(login.user_id, body.recovery_codes[0])).toBe(9);
      const events = await service.rows<{ text: string }>(
        `
          select changes::text as text from events
          where event_type = 'factor.recovery_codes_renewed' and target_id = $1`,
        [login.user_id],
      );
      expect(events).toEqual([{ text: '{}' }]);
      const { source } = await service.mailbox.take(login.email, /^Subject: New recovery codes/m);
      for (const code of body.recovery_codes as string[]) expect(source).not.toContain(code);
    });

    it('needs a confirmed factor, and disappears with the last one (M7)', async () => {
      const login = await service.loginAs();
      expect((await renew(login)).body.code).toBe('factor.not_found');
      const first = await enrolApp(service, login);
      const second = await enrolApp(service, login);
      expect((await service.delete(`/auth/factor/${first.factor_id}`, login)).status).toBe(204);
      expect([await codesLeft(login), await factors.available(login.user_id)]).toEqual([10, ['totp', 'recovery_code']]);
      expect((await service.delete(`/auth/factor/${second.factor_id}`, login)).status).toBe(204);
      expect([await codesLeft(login), await factors.available(login.user_id)]).toEqual([0, []]);
      expect(await factors.useRecoveryCode(login.user_id, first.recovery_codes[0] ?? '')).toBeNull();
      expect((await renew(login)).status).toBe(404);
    });

    it('does not complete a login when all are used (M7)', async () => {
      const login = await service.loginAs();
      const { recovery_codes } = await enrolApp(service, login);
      for (const code of recovery_codes) expect(await factors.useRecoveryCode(login.user_id, code)).not.toBeNull();
      expect(await factors.available(login.user_id)).toEqual(['totp']);
    });
  });
});
