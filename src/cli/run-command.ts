import { CommanderError } from 'commander';
import { CommandError, exitCodes } from './command-error';
import { note } from './shell/output';

/** Runs a command and exits with status 0, or prints its error and exits with another status. */
export function runCommand(command: () => Promise<void>): void {
  command().then(
    () => process.exit(0),
    async (error: unknown) => process.exit(await report(error)),
  );
}

/** Prints an error, unless commander has printed it. Returns the exit code. */
async function report(error: unknown): Promise<number> {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage;
  if (error instanceof CommandError) {
    note(error.message);
    return error.exitCode;
  }
  const { explainStartFault } = await import('../process/start-fault.js');
  console.error(explainStartFault(error) ?? (error instanceof Error ? error.message : error));
  return exitCodes.failed;
}
