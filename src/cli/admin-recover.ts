import { parseArgs } from 'node:util';
import { FirstAdministrator } from '../recovery/first-administrator.service';
import { withApplication } from './application';

/** Prints a one-time link with which an administrator sets a new password. */
export async function adminRecover(args: string[]): Promise<void> {
  const [name = 'administrator'] = parseArgs({ args, allowPositionals: true }).positionals;
  await withApplication(async (app) => {
    const administrators = app.get(FirstAdministrator);
    console.log((await administrators.ensure()) ?? (await administrators.recover(name)));
  });
}
