import type { FieldError } from '../common/errors/app-error';
import { type OperationResponse, toSkippedResponse } from '../operations/operations.dto';
import type { SkippedRow } from '../operations/operations.service';
import { cellText } from './csv-cells';
import type { ImportLine } from './import-file';
import { transferColumns } from './transfer-columns';

/** A row that failed. */
export type FailedRow = SkippedRow;

/**
 * Text that replaces a password hash in the file of failed rows. The text is not a valid hash: the
 * row fails again until the cell contains the hash or is empty, so that no user loses a password
 * unnoticed.
 */
const removedHash = '(removed)';
/** Columns by which a purge finds the rows of its user. */
const identifying = ['user_id', 'name', 'email', 'phone'];

/** Returns a row that failed, with its cells. */
export function toFailedRow({ line, values, cells: stored }: ImportLine, errors: FieldError[]): FailedRow {
  const cells = stored ?? cellsOf(values);
  const identities = identifying.flatMap((column) => cells?.[column]?.toLowerCase() ?? []);
  return { line, errors, cells, identities };
}

/**
 * Returns the cells of a row by column, as they are kept for correction, or null for a row that
 * could not be read. Contains only columns of an export: neither a password hash nor an unknown
 * field, which may be a password, is kept (P10).
 */
export function cellsOf(values: Record<string, unknown> | undefined): Record<string, string> | null {
  if (values === undefined) return null;
  const cells: Record<string, string> = {};
  for (const column of Object.keys(transferColumns)) {
    const value = values[column] ?? null;
    if (value !== null) cells[column] = cellText(value);
  }
  if ((values['password_hash'] ?? null) !== null) cells['password_hash'] = removedHash;
  return cells;
}

/** The failed rows of a file so far, as an operation lists them. */
export type FailedSummary = Pick<OperationResponse, 'skipped_count' | 'skipped_reasons' | 'skipped'>;

/** Returns the summary of no rows. */
export function emptySummary(): FailedSummary {
  return { skipped_count: 0, skipped_reasons: {}, skipped: [] };
}

/** Adds rows to a summary, which lists the first `listedMax` rows. */
export function addFailed(summary: FailedSummary, rows: FailedRow[], listedMax: number): FailedSummary {
  summary.skipped_count += rows.length;
  for (const row of rows) {
    const listed = toSkippedResponse(row);
    summary.skipped_reasons[listed.reason] = (summary.skipped_reasons[listed.reason] ?? 0) + 1;
    if (summary.skipped.length < listedMax) summary.skipped.push(listed);
  }
  return summary;
}
