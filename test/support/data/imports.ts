import type { TestAnswer, TestService } from '../service';

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

/** Returns a row of a Carrier User to import; any field can be given. */
export function importRow(name: string, more: object = {}): Record<string, unknown> {
  return { user_type: 'carrier', name, email: `${name}@example.com`, carrier_id: 'c1', ...more };
}

/** Imports rows as NDJSON. */
export function importRows(
  service: Pick<TestService, 'post'>,
  rows: object[],
  { token }: { token: string },
  query = '',
): Promise<TestAnswer> {
  const body = rows.map((row) => JSON.stringify(row)).join('\n');
  return service.post(`/user/import?${query}`, { token, body, headers: { 'content-type': 'application/x-ndjson' } });
}

/** Imports a CSV file. */
export function importCsv(
  service: Pick<TestService, 'post'>,
  body: string,
  { token }: { token: string },
  query = '',
): Promise<TestAnswer> {
  return service.post(`/user/import?${query}`, { token, body, headers: { 'content-type': 'text/csv' } });
}
