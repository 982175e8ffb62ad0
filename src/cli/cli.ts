import 'reflect-metadata';
import { runCommand } from './run-command';

/** Commands by name. Each receives the arguments after its name and is loaded on use. */
const commands = new Map<string | undefined, (args: string[]) => Promise<void>>([
  ['after-restore', async (args) => (await import('./after-restore.js')).afterRestore(args)],
  ['admin-recover', async (args) => (await import('./admin-recover.js')).adminRecover(args)],
  ['app-secret', async (args) => (await import('./app-secret.js')).appSecret(args)],
  ['mail', async (args) => (await import('./mail.js')).mail(args)],
  ['migrate', async (args) => (await import('./migrate.js')).migrate(args)],
  ['rotate-keys', async (args) => (await import('./rotate-keys.js')).rotateKeys(args)],
]);

const usage = `Commands:
  admin-recover [--reset-factors] [login]
                                  print a one-time link with which an administrator sets a new password;
                                  --reset-factors also removes the second factors;
                                  write a login that begins with - after --: admin-recover -- -ada
  after-restore [--nothing-lost]  after a restore, end what the backup brought back, accept the server and print what
                                  to repeat; --nothing-lost only accepts the server, after pg_upgrade or after the
                                  dump of a stopped service
  app-secret                      after a change of APP_SECRET, encrypt all stored secrets with it and say when
                                  APP_SECRET_PREVIOUS may be removed
  mail test <address>             send a test mail and print the response of the mail server
  migrate                         apply all pending migrations
  rotate-keys [--now] [--revoke]  create the next signing key; --now uses it as soon as all instances know it,
                                  --revoke uses it immediately and revokes all other keys`;

/** `npm run cli -- <command>`; in the image `node dist/src/cli/cli.js <command>`. */
runCommand(async () => {
  const [name, ...args] = process.argv.slice(2);
  if ([name, args[0]].includes('--help')) return console.log(usage);
  const command = commands.get(name);
  if (command === undefined) throw new Error(usage);
  await command(args);
});
