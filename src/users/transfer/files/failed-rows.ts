import type { FieldError } from '../../../http/errors/app-error';
import { type OperationResponse, toSkippedResponse } from '../../operations/operations.dto';
import { listedMax } from '../../operations/operation-queues';
import type { SkippedRow } from '../../operations/operation.entity';
import { importableHash } from '../../../auth/passwords/stored-hash';
import { cellText } from './csv-cells';
import type { ImportLine } from './import-file';
import { transferColumns } from './transfer-columns';

/**
 * Text that replaces a password hash in the file of failed rows. The text is not a valid hash: the
 * row fails again until the cell contains the hash or is empty, so that no user loses a password
 * unnoticed.
 */
const removedText = '(removed)';
/** The parts of an address in any text, before and after the `@`. */
const localPart = /[^\s<>()[\]",:;]+$/;
const domain = /^[^\s<>()[\]",:;]+/;
/** Bounds of the index: a cell may contain any number of addresses, or one text of any length. */
const identitiesMax = 20;
const identityLengthMax = 320;

/** Returns a row that failed, with its cells. */
export function toFailedRow({ line, values, cells: stored }: ImportLine, errors: FieldError[]): SkippedRow {
  const cells = stored ?? cellsOf(values);
  return { line, errors, cells, identities: identitiesOf(cells ?? {}) };
}

/**
 * Returns the values by which a purge finds the row of its user, in the form of valid values: the
 * id, the name without blanks, the phone number as `+` and digits, and each address in any cell.
 */
function identitiesOf(cells: Record<string, string>): string[] {
  const { user_id = '', name = '', phone = '' } = cells;
  const digits = phone.replace(/\D/g, '').replace(/^00/, '');
  const found = [user_id.trim(), name.replace(/\s/g, ''), digits === '' ? '' : `+${digits}`];
  for (const cell of Object.values(cells)) found.push(...addressesIn(cell));
  const usable = found.filter((text) => text !== '' && text !== removedText && text.length <= identityLengthMax);
  return [...new Set(usable.map((text) => text.toLowerCase()))].slice(0, identitiesMax);
}

/** Returns the first addresses in a text. Reads little around each `@`, so the time is linear. */
function addressesIn(text: string): string[] {
  const parts = text.split('@', identitiesMax + 1);
  return parts.slice(1).flatMap((after, index) => {
    const [local] = localPart.exec((parts[index] ?? '').slice(-64)) ?? [];
    const [host] = domain.exec(after.slice(0, 255)) ?? [];
    return local === undefined || host === undefined ? [] : `${local}@${host.replace(/\.+$/, '')}`;
  });
}

/**
 * Returns the cells of a row by column, as they are kept for correction, or null for a row that
 * could not be read. Contains only columns of an export: neither a password hash, in any column,
 * nor an unknown field, which may be a password, is kept (P10).
 */
export function cellsOf(values: Record<string, unknown> | undefined): Record<string, string> | null {
  if (values === undefined) return null;
  const cells: Record<string, string> = {};
  for (const column of Object.keys(transferColumns)) {
    const value = values[column] ?? null;
    if (value !== null) cells[column] = isHash(value) ? removedText : cellText(value);
  }
  if ((values['password_hash'] ?? null) !== null) cells['password_hash'] = removedText;
  return cells;
}

/** Returns whether a value is a password hash, or a list with one, as in a row that is shifted. */
function isHash(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isHash);
  return typeof value === 'string' && importableHash(value.trim()) !== 'unknown form';
}

/** The failed rows of a file so far, as an operation lists them. */
export type FailedSummary = Pick<OperationResponse, 'skipped_count' | 'skipped_reasons' | 'skipped'>;

/** Returns the summary of no rows. */
export function emptySummary(): FailedSummary {
  return { skipped_count: 0, skipped_reasons: {}, skipped: [] };
}

/** Adds rows to a summary, which lists the first 100 rows. */
export function addFailed(summary: FailedSummary, rows: SkippedRow[]): FailedSummary {
  summary.skipped_count += rows.length;
  for (const row of rows) {
    const listed = toSkippedResponse(row);
    summary.skipped_reasons[listed.reason] = (summary.skipped_reasons[listed.reason] ?? 0) + 1;
    if (summary.skipped.length < listedMax) summary.skipped.push(listed);
  }
  return summary;
}
