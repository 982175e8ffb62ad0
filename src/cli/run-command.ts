import { explainStartFault } from '../process/start-fault';

/** Runs a command and exits with status 0, or prints its error and exits with status 1. */
export function runCommand(command: () => Promise<void>): void {
  command().then(
    () => process.exit(0),
    (error: unknown) => {
      console.error(explainStartFault(error) ?? (error instanceof Error ? error.message : error));
      process.exit(1);
    },
  );
}
