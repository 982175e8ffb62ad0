import { readJsonValue } from '../../../http/bodies/body-parsers';
import type { CellForm } from '../../user-fields';

/** Texts that a spreadsheet would change to a number or a date. SQL uses the same pattern. */
export const numeric = /^[-+0-9.,eE]*$/;

/**
 * Matches cells to which `csv_cell` (`migrations/baseline/operations.ts`) added an
 * apostrophe, because a spreadsheet would run them as a formula (OWASP CSV Injection).
 */
const guarded = /^'+[-=+@\t\r\n＝＋－＠]/;
/** Matches the guarded parts of a cell. A spreadsheet may split cells at `;`, tab or line break. */
const guardedParts = /([;\t\r\n])'(?=['"]*[-=+@＝＋－＠])/g;

/**
 * Reads a cell that is not empty. Returns undefined if the cell must be JSON and is not.
 * A list is a JSON array, or plain text with `;` between the items.
 */
export function readCell(cell: string, form: CellForm): unknown {
  // Spreadsheets write booleans in upper case.
  if (form === 'boolean') return /^true$/i.test(cell) || (/^false$/i.test(cell) ? false : cell);
  const text = unguarded(cell);
  if (form === 'json' || (form === 'list' && text.trimStart().startsWith('['))) return readJsonCell(text);
  if (form !== 'list') return text;
  const items = text.split(';').map((item) => item.trim());
  return items.filter((item) => item !== '');
}

/** Returns a value as the text of a cell, in the form that exports have. NUL is removed. */
export function cellText(value: unknown): string {
  const text = typeof value === 'string' ? value : isPlainList(value) ? value.join(';') : JSON.stringify(value);
  return text.replaceAll('\0', '');
}

function isPlainList(value: unknown): value is string[] {
  if (!Array.isArray(value) || numeric.test(value.join(';'))) return false;
  return value.every((item) => typeof item === 'string' && /^[^;[\s]+$/.test(item));
}

function readJsonCell(text: string): unknown {
  try {
    return readJsonValue(text);
  } catch {
    return undefined;
  }
}

/**
 * Removes the apostrophes that `csv_cell` added. Removes only one from the cell and from each part,
 * so that a cell that started with apostrophes is restored.
 */
export function unguarded(cell: string): string {
  return (guarded.test(cell) ? cell.slice(1) : cell).replace(guardedParts, '$1');
}
