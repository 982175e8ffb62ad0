import { createHash } from 'node:crypto';
import { FactorsService } from '../../../src/credentials/factors/factors.service';
import { enrolApp } from '../../support/factors';
import { type TestLogin, TestService } from '../../support/service';

describe('a recovery code', () => {
  let service: TestService;
  let factors: FactorsService;
  beforeAll(async () => {
    service = await TestService.start();
    factors = service.app.get(FactorsService);
  });
  afterAll(() => service.close());

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
    const expected = recovery_codes.map((code) => createHash('sha256').update(code.replaceAll('-', '')).digest('hex'));
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

  it.each(['', ' ', '-', 'A'.repeat(23), 'A'.repeat(25), 'A'.repeat(24), '0'.repeat(24), 'Ａ'.repeat(24), '\u0000'])(
    'rejects %j (M7)',
    async (code) => {
      const login = await service.loginAs();
      await enrolApp(service, login);
      expect(await factors.useRecoveryCode(login.user_id, code)).toBeNull();
    },
  );

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
      `select changes::text as text from events where event_type = 'factor.recovery_codes_renewed' and target_id = $1`,
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
