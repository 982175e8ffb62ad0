/** Exit codes of the command line. */
export const exitCodes = { failed: 1, usage: 2, not_found: 3, denied: 4, unavailable: 5 } as const;

/** Ends a command with a message for people and an exit code. */
export class CommandError extends Error {
  readonly exitCode: number;

  constructor(reason: keyof typeof exitCodes, message: string) {
    super(message);
    this.exitCode = exitCodes[reason];
  }
}
