import { EnrollmentCodesService } from '../../../src/auth/second-factors/codes/enrollment-codes.service';
import { FactorsRepository } from '../../../src/auth/second-factors/factors.repository';
import { FactorsService } from '../../../src/auth/second-factors/factors.service';
import type { Config } from '../../../src/platform/config/config';
import { JobsService } from '../../../src/platform/jobs/jobs.service';
import { codeAt, currentStep, enrolApp, forgetSteps, type TestApp } from '../../support/factors';
import { appSecret, type TestLogin, TestService } from '../../support/in-process';

const newSecret = 'another-secret-9876543210-zyxwvutsrqp';

describe('the secret of an authenticator app', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterEach(() => service.rows('delete from second_factors'));
  afterAll(() => service.close());

  const factorsWith = (secrets: Partial<Config>) =>
    new FactorsService(
      service.app.get(FactorsRepository),
      service.app.get(EnrollmentCodesService),
      service.app.get(JobsService),
      { ...service.config, ...secrets },
    );
  const accepts = async (factors: FactorsService, { user_id }: TestLogin, { secret }: TestApp) => {
    await forgetSteps(service);
    return (await factors.acceptTotp(user_id, codeAt(secret, await currentStep(service)))) !== null;
  };
  const rotation = { APP_SECRET: newSecret, APP_SECRET_PREVIOUS: appSecret };

  it('works with both secrets while APP_SECRET changes, and with the new one alone afterwards', async () => {
    const login = await service.loginAs();
    const app = await enrolApp(service, login);
    expect(await accepts(factorsWith({ APP_SECRET: newSecret }), login, app)).toBe(false);
    expect(await accepts(factorsWith(rotation), login, app)).toBe(true);
    expect(await factorsWith(rotation).encryptAgain()).toBe(0);
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
    expect(await factorsWith(rotation).encryptAgain()).toBe(1_201);
    for (const [index, app] of apps.entries())
      expect(await accepts(factorsWith({ APP_SECRET: newSecret }), logins[index] as TestLogin, app)).toBe(true);
  });

  it('is encrypted again by two instances at once, and during a removal', async () => {
    const login = await service.loginAs();
    const [first, second] = [await enrolApp(service, login), await enrolApp(service, login)];
    await Promise.all([
      factorsWith(rotation).encryptAgain(),
      service.delete(`/auth/factor/${first.factor_id}`, login),
      factorsWith(rotation).encryptAgain(),
    ]);
    expect(await accepts(factorsWith({ APP_SECRET: newSecret }), login, second)).toBe(true);
    expect((await service.get('/auth/factor/list', login)).body.items).toHaveLength(1);
  });

  // The last test: the command also encrypts the signing key with the new secret.
});
