import { Secret, TOTP } from 'otpauth';
import type { TestAnswer, TestLogin, TestService } from '../service';

/** An authenticator app of a test. */
export interface TestApp {
  factor_id: string;
  /** base32 */
  secret: string;
  recovery_codes: string[];
}

/** Returns the code of a 30-second step. */
export function codeAt(secret: string, step: number): string {
  return TOTP.generate({ secret: Secret.fromBase32(secret), timestamp: step * 30_000 });
}

/** Returns the current step on the clock of the database, which decides. */
export async function currentStep(service: TestService): Promise<number> {
  const [row] = await service.rows<{ step: number }>(
    'select floor(extract(epoch from clock_timestamp()) / 30)::integer as step',
  );
  return row?.step ?? 0;
}

/** Runs work within one 30-second step. Runs it again if the step changed meanwhile. */
export async function withinStep<Result>(
  service: TestService,
  work: (step: number) => Promise<Result>,
): Promise<Result> {
  for (;;) {
    const step = await currentStep(service);
    const result = await work(step);
    if ((await currentStep(service)) === step) return result;
  }
}

/** Makes the service accept the codes of all current steps again. */
export async function forgetSteps(service: TestService): Promise<void> {
  await service.rows('delete from totp_steps');
}

/** Confirms an authenticator app with a code that was not used. */
export async function confirmApp(
  service: TestService,
  login: Pick<TestLogin, 'token'>,
  { factor_id, secret }: Pick<TestApp, 'factor_id' | 'secret'>,
): Promise<TestAnswer> {
  await forgetSteps(service);
  const code = codeAt(secret, await currentStep(service));
  return service.post('/auth/factor/totp/confirm', { token: login.token, body: { factor_id, code } });
}

/** Enrols an authenticator app. The service then accepts all of its current codes. */
export async function enrolApp(service: TestService, login: Pick<TestLogin, 'token'>): Promise<TestApp> {
  const added = await service.post('/auth/factor/totp', { token: login.token, body: {} });
  if (added.status !== 201) throw new Error(`add: ${added.text}`);
  const confirmed = await confirmApp(service, login, added.body);
  if (confirmed.status !== 200) throw new Error(`confirm: ${confirmed.text}`);
  await forgetSteps(service);
  const { factor_id, secret } = added.body;
  return { factor_id, secret, recovery_codes: confirmed.body.recovery_codes ?? [] };
}
