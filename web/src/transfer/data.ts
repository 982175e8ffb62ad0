import { api, dataOf, type Schema } from '../api/client';
import { formatOf } from './bad-rows';

/** What an import would do. */
export type ImportPreview = Schema<'ImportPreviewResponse'>;

/** Options of an import. */
export interface ImportOptions {
  on_conflict: 'fail' | 'skip';
  invite: boolean;
}

/** Checks a file without creating users. */
export async function checkFile(file: File, on_conflict: ImportOptions['on_conflict']): Promise<ImportPreview> {
  return (await send(file, { on_conflict, dry_run: true })) as ImportPreview;
}

/**
 * Imports a file, and returns the id of the operation.
 * @param key idempotency key: a retry with the same key does not import again
 */
export async function importFile(file: File, options: ImportOptions, key: string): Promise<string> {
  const operation = (await send(file, options, key)) as Schema<'OperationResponse'>;
  return operation.operation_id;
}

function send(
  file: File,
  query: Partial<ImportOptions> & { dry_run?: boolean },
  key?: string,
): Promise<Schema<'ImportResponse'>> {
  const header = key === undefined ? {} : { 'Idempotency-Key': key };
  return dataOf(
    api.POST('/user/import', {
      params: { query, header },
      headers: { 'content-type': formatOf(file) === 'ndjson' ? 'application/x-ndjson' : 'text/csv' },
      // Passed as it is, so that the browser streams the file.
      body: file as unknown as string,
      bodySerializer: (body) => body,
    }),
  );
}
