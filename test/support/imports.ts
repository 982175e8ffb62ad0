/** An error of a row of an import. */
export interface RowError {
  line: number;
  pointer: string;
  code: string;
  detail: string;
}

/** Returns the errors of all rows that an operation or a dry run lists, with their lines. */
export function errorsIn({ skipped }: { skipped: { line: number; errors: Omit<RowError, 'line'>[] }[] }): RowError[] {
  return skipped.flatMap(({ line, errors }) => errors.map((error) => ({ line, ...error })));
}
