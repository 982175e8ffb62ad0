import { FactorsService } from '../auth/second-factors/factors.service';
import { CONFIG, type Config } from '../platform/config/config';
import { withApplication } from './application';

/**
 * Encrypts all stored secrets with `APP_SECRET`, and prints whether `APP_SECRET_PREVIOUS` is still
 * needed. The start of the application does the same for the signing keys and webhooks.
 */
export async function appSecret(): Promise<void> {
  await withApplication(async (app) => {
    const undecryptable = await app.get(FactorsService).encryptAgain();
    console.log(describe(undecryptable, app.get<Config>(CONFIG)));
  });
}

function describe(undecryptable: number, config: Config): string {
  if (undecryptable > 0)
    return (
      `Authenticator apps whose secret neither APP_SECRET nor APP_SECRET_PREVIOUS decrypts: ${undecryptable}. ` +
      'Set APP_SECRET_PREVIOUS to the secret that encrypted them, or reset the second factors of their users.'
    );
  const encrypted = 'All stored secrets are encrypted with APP_SECRET.';
  if (config.APP_SECRET_PREVIOUS === undefined) return `${encrypted} APP_SECRET_PREVIOUS is not set.`;
  const idle = Math.max(config.CARRIER_USER_SESSION_IDLE_SECONDS, config.SYSTEM_USER_SESSION_IDLE_SECONDS);
  return (
    `${encrypted} Remove APP_SECRET_PREVIOUS ${idle} s after the last instance began to use the new APP_SECRET: ` +
    'until then, refresh tokens of the previous secret are in use.'
  );
}
