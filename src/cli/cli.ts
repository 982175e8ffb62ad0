import 'reflect-metadata';
import { adminRecover } from './admin-recover';
import { migrate } from './migrate';
import { rotateKeys } from './rotate-keys';
import { runCommand } from './run-command';

/** Each takes what stands behind its name. */
const commands: Record<string, (args: string[]) => Promise<void>> = {
  'admin-recover': adminRecover,
  migrate,
  'rotate-keys': rotateKeys,
};

const list = `Commands:
  admin-recover [name]            print a one-time link with which an administrator sets a new password
  migrate                         bring the database up to date
  rotate-keys [--now] [--revoke]  make the next signing key; with --revoke all others are bad at once`;

/** `npm run cli -- <command>`; in the image `node dist/src/cli/cli.js <command>`. */
runCommand(async () => {
  const [name = '', ...args] = process.argv.slice(2);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (process.argv.includes('--help')) return console.log(list);
  if (command === undefined) throw new Error(list);
  await command(args);
});
