import { EnrollmentCodesService } from '../../../src/credentials/factors/enrollment-codes.service';
import { FactorUpkeepRepository } from '../../../src/credentials/factors/factor-upkeep.repository';
import { FactorUpkeepService } from '../../../src/credentials/factors/factor-upkeep.service';
import { FactorsRepository } from '../../../src/credentials/factors/factors.repository';
import { FactorsService } from '../../../src/credentials/factors/factors.service';
import type { Config } from '../../../src/config/config';
import { JobsService } from '../../../src/jobs/jobs.service';
import { runBuilt } from '../../support/built-program';
import { codeAt, currentStep, enrolApp, forgetSteps, type TestApp } from '../../support/factors';
import { appSecret, type TestLogin, TestService } from '../../support/service';

jest.setTimeout(120_000);

const newSecret = 'another-secret-9876543210-zyxwvutsrqp';

describe('the secret of an authenticator app', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterEach(() => service.rows('delete from second_factors'));
  afterAll(() => service.close());

  const factorsWith = (secrets: Partial<Config>) =>
    new FactorsService(service.app.get(FactorsRepository), service.app.get(EnrollmentCodesService), {
      ...service.config,
      ...secrets,
    });
  const upkeepWith = (secrets: Partial<Config>) =>
    new FactorUpkeepService(service.app.get(FactorUpkeepRepository), service.app.get(JobsService), {
      ...service.config,
      ...secrets,
    });
  const accepts = async (factors: FactorsService, { user_id }: TestLogin, { secret }: TestApp) => {
    await forgetSteps(service);
    return (await factors.acceptTotp(user_id, codeAt(secret, await currentStep(service)))) !== null;
  };
  const cli = (env: Record<string, string>, ...args: string[]) =>
    runBuilt('src/cli/cli.js', { DATABASE_URL: service.config.DATABASE_URL, ...env }, args);
  const rotation = { APP_SECRET: newSecret, APP_SECRET_PREVIOUS: appSecret };

  it('works only for its own user and factor (M1)', async () => {
    const factors = service.app.get(FactorsService);
    const [ada, eve] = [await service.loginAs(), await service.loginAs()];
    const [adasApp, evesApp, evesOther] = [
      await enrolApp(service, ada),
      await enrolApp(service, eve),
      await enrolApp(service, eve),
    ];
    const copy = (to: TestApp, from: TestApp) =>
      service.rows(
        `
          update second_factors
          set secret = (select secret from second_factors where factor_id = $2)
          where factor_id = $1`,
        [to.factor_id, from.factor_id],
      );
    expect(await accepts(factors, ada, adasApp)).toBe(true);
    // Someone who can write the table lets Ada's factor accept the codes of Eve's app.
    await copy(adasApp, evesApp);
    expect(await accepts(factors, ada, evesApp)).toBe(false);
    expect(await accepts(factors, ada, adasApp)).toBe(false);
    await copy(evesOther, evesApp);
    await service.rows('delete from second_factors where factor_id = $1', [evesApp.factor_id]);
    expect(await accepts(factors, eve, evesApp)).toBe(false);
  });

  it('does not work after any bit of it changed', async () => {
    const factors = service.app.get(FactorsService);
    const login = await service.loginAs();
    const app = await enrolApp(service, login);
    const [row] = await service.rows<{ secret: Buffer }>('select secret from second_factors where factor_id = $1', [
      app.factor_id,
    ]);
    const stored = row?.secret ?? Buffer.alloc(0);
    expect(stored).toHaveLength(4 + 12 + 16 + 20);
    const store = (secret: Buffer) =>
      service.rows('update second_factors set secret = $2 where factor_id = $1', [app.factor_id, secret]);
    for (let at = 0; at < stored.length; at++) {
      const altered = Buffer.from(stored);
      altered[at] = (altered[at] ?? 0) ^ 1;
      await store(altered);
      expect([at, await accepts(factors, login, app)]).toEqual([at, false]);
    }
    for (const length of [0, 3, 4, 16, 31, 32, 51]) {
      await store(stored.subarray(0, length));
      expect([length, await accepts(factors, login, app)]).toEqual([length, false]);
    }
    await store(stored);
    expect(await accepts(factors, login, app)).toBe(true);
  });

  it('works with both secrets while APP_SECRET changes, and with the new one alone afterwards', async () => {
    const login = await service.loginAs();
    const app = await enrolApp(service, login);
    expect(await accepts(factorsWith({ APP_SECRET: newSecret }), login, app)).toBe(false);
    expect(await accepts(factorsWith(rotation), login, app)).toBe(true);
    expect(await upkeepWith(rotation).encryptAgain()).toBe(0);
    expect(await accepts(factorsWith({ APP_SECRET: newSecret }), login, app)).toBe(true);
    expect(await accepts(factorsWith({ APP_SECRET: appSecret }), login, app)).toBe(false);
    // An instance that still uses the old secret knows the new one.
    const before = { APP_SECRET: appSecret, APP_SECRET_PREVIOUS: newSecret };
    expect(await accepts(factorsWith(before), login, app)).toBe(true);
  });

  it('is encrypted again in batches that skip undecryptable secrets', async () => {
    const logins = [await service.loginAs(), await service.loginAs()];
    const apps = [await enrolApp(service, logins[0] as TestLogin), await enrolApp(service, logins[1] as TestLogin)];
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
    expect(await upkeepWith(rotation).encryptAgain()).toBe(1_201);
    for (const [index, app] of apps.entries())
      expect(await accepts(factorsWith({ APP_SECRET: newSecret }), logins[index] as TestLogin, app)).toBe(true);
  });

  it('is encrypted again by two instances at once, and during a removal', async () => {
    const login = await service.loginAs();
    const [first, second] = [await enrolApp(service, login), await enrolApp(service, login)];
    await Promise.all([
      upkeepWith(rotation).encryptAgain(),
      service.delete(`/auth/factor/${first.factor_id}`, login),
      upkeepWith(rotation).encryptAgain(),
    ]);
    expect(await accepts(factorsWith({ APP_SECRET: newSecret }), login, second)).toBe(true);
    expect((await service.get('/auth/factor/list', login)).body.items).toHaveLength(1);
  });

  it('of an administrator is removed by admin-recover --reset-factors only', async () => {
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

  // The last test: the command also encrypts the signing key with the new secret.
  it('is encrypted again by the command that says when APP_SECRET_PREVIOUS may be removed', async () => {
    const login = await service.loginAs();
    const app = await enrolApp(service, login);
    const unknown = await cli({ APP_SECRET: newSecret, APP_SECRET_PREVIOUS: `${appSecret}-wrong` }, 'app-secret');
    // The signing key cannot be decrypted either, so the command does not start.
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('APP_SECRET')]);
    const done = await cli(rotation, 'app-secret');
    expect([done.code, done.stdout]).toEqual([0, expect.stringMatching(/Remove APP_SECRET_PREVIOUS 86400 s after/)]);
    expect(await accepts(factorsWith({ APP_SECRET: newSecret }), login, app)).toBe(true);
    await service.rows(`update second_factors set secret = '\\x00000000' where factor_id = $1`, [app.factor_id]);
    const left = await cli({ APP_SECRET: newSecret }, 'app-secret');
    expect(left.stdout).toContain(
      'Authenticator apps whose secret neither APP_SECRET nor APP_SECRET_PREVIOUS decrypts: 1.',
    );
  });
});
