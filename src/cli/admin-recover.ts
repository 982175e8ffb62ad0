import { currentTime } from '../platform/clock';
import { CONFIG, type Config, serviceUrl } from '../platform/config/config';
import { FirstAdministrator } from '../auth/recovery/first-administrator.service';
import { withApplication } from './application';

/**
 * Prints the address of the service and a one-time link with which an administrator sets a new
 * password. With `--reset-factors`, also removes the administrator's second factors.
 */
export async function adminRecover(login = 'administrator', { resetFactors = false } = {}): Promise<void> {
  await withApplication(async (app) => {
    const administrators = app.get(FirstAdministrator);
    const link = (await administrators.ensure()) ?? (await administrators.recover(login, resetFactors));
    const config = app.get<Config>(CONFIG);
    const expires_at = new Date(currentTime().getTime() + config.RESET_TOKEN_TTL_SECONDS * 1_000);
    console.log(
      [
        `The address of the service is ${serviceUrl(config)} (PUBLIC_URL and BASE_PATH).`,
        `Set a new password with this link. It works once, until ${expires_at.toISOString()}:`,
        `  ${link}`,
      ].join('\n'),
    );
  });
}
