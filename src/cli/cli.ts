import { Argument, Command } from 'commander';
import { completionScript } from './completion';
import { runCommand } from './run-command';
import { accessCommands } from './shell/access';
import { tailCommands } from './shell/tails';
import { userCommands } from './shell/users';

/** Groups of the commands that call the API. */
const groups = {
  user: 'find and change users. <user> is an id, a login name or an e-mail address',
  session: 'end sessions',
  operation: 'show and undo bulk changes and imports',
  key: 'list, revoke and rotate API keys. <key> is an id or a name',
  'address-block': 'reject logins from networks',
  audit: 'follow the audit log',
  change: 'follow the change feed',
};

// Each command is loaded on use: calls of the API load neither Nest nor a database driver.
const program = new Command('identity')
  .description('Command line of carrier-identity')
  .helpCommand(false)
  .exitOverride()
  .showHelpAfterError('Add --help for the arguments and an example.')
  .commandsGroup('Commands in the environment of the service:');

program
  .command('admin-recover [login]')
  .description('print a one-time link with which an administrator sets a new password')
  .option('--reset-factors', 'also remove the second factors')
  .addHelpText('after', '\nWrite a login that begins with - after --: admin-recover -- -ada')
  .action(async (login: string | undefined, options: { resetFactors?: boolean }) =>
    (await import('./admin-recover.js')).adminRecover(login, options),
  );
program
  .command('after-restore')
  .description('after a restore, end what the backup brought back, accept the server and print what to repeat')
  .option('--nothing-lost', 'only accept the server, after pg_upgrade or after the dump of a stopped service')
  .action(async (options: { nothingLost?: boolean }) => (await import('./after-restore.js')).afterRestore(options));
program
  .command('app-secret')
  .description('after a change of APP_SECRET, encrypt all stored secrets with it')
  .addHelpText('after', '\nPrints when APP_SECRET_PREVIOUS may be removed.')
  .action(async () => (await import('./app-secret.js')).appSecret());
program
  .command('mail')
  .description('test the mail server')
  .command('test <address>')
  .description('send a test mail and print the response of the mail server')
  .action(async (address: string) => (await import('./mail.js')).mailTest(address));
program
  .command('migrate')
  .description('apply all pending migrations')
  .action(async () => (await import('./migrate.js')).migrate());
program
  .command('rotate-keys')
  .description('create the next signing key')
  .option('--now', 'use it as soon as all instances know it')
  .option('--revoke', 'use it immediately and revoke all other keys')
  .action(async (options: { now?: boolean; revoke?: boolean }) =>
    (await import('./rotate-keys.js')).rotateKeys(options),
  );

program.commandsGroup('Commands that call the API at IDENTITY_URL, with an API key or access token in IDENTITY_KEY:');
for (const add of [...userCommands, ...accessCommands, ...tailCommands]) add(program, groups);

program
  .commandsGroup('Other commands:')
  .command('completion')
  .description('print a script for the completion of commands')
  .addArgument(new Argument('<shell>').choices(['bash', 'zsh']))
  .addHelpText('after', `\nExample:\n  source <(${program.name()} completion bash)`)
  .action((shell: string) => console.log(completionScript(program, shell)));
program.addHelpText(
  'after',
  '\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 not found or not unique, 4 not authorized, 5 unavailable',
);

/** `npm run cli -- <command>`; in the image `node dist/src/cli/cli.js <command>`. */
runCommand(async () => void (await program.parseAsync()));
