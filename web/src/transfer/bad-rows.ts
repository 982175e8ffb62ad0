import type { FieldError } from '../api/problems';
import { recordsOf } from './csv-records';

/** A row that an import would skip. */
export interface BadRow {
  /** first line of the row in the file, from 1 */
  line: number;
  errors: readonly FieldError[];
}

/**
 * Returns a file that contains only the bad rows of a file, for correction. A CSV file starts with
 * the columns `import_line` and `import_errors`, which an import ignores. Other cells are
 * unchanged. Streams the file, because it may not fit into memory.
 */
export async function badRowsOf(file: File, rows: readonly BadRow[]): Promise<Blob> {
  const isCsv = formatOf(file) === 'csv';
  const byLine = new Map(rows.map((row) => [row.line, row]));
  const parts: string[] = [];
  let cellsOf = (_row: BadRow, text: string) => text;
  let isHeaderRead = !isCsv;
  for await (const { line, text } of recordsOf(file, isCsv)) {
    const row = byLine.get(line);
    if (!isHeaderRead) {
      parts.push(separatorLine.test(text) ? text : headerOf(text));
      if (separatorLine.test(text)) continue;
      isHeaderRead = true;
      cellsOf = cellsAfter(text);
    } else if (row !== undefined) {
      parts.push(cellsOf(row, text));
      byLine.delete(line);
      if (byLine.size === 0) break;
    }
  }
  return new Blob([`${parts.join('\r\n')}\r\n`], { type: isCsv ? 'text/csv' : 'application/x-ndjson' });
}

/** Line that spreadsheets write before the header to declare the delimiter. */
const separatorLine = /^"?sep=[,;\t]"?$/i;
const ignoredColumns = ['import_line', 'import_errors'];

function delimiterOf(header: string): string {
  return /[,;\t]/.exec(header)?.[0] ?? ',';
}

function headerOf(header: string): string {
  const delimiter = delimiterOf(header);
  const prefix = ignoredColumns.join(delimiter);
  return header.startsWith(prefix) ? header : `${prefix}${delimiter}${header}`;
}

/**
 * Returns a function that adds the two columns, or replaces the columns of an earlier correction.
 */
function cellsAfter(header: string): (row: BadRow, text: string) => string {
  const delimiter = delimiterOf(header);
  const isCorrected = header.startsWith(ignoredColumns.join(delimiter));
  const old = new RegExp(`^[^${delimiter}]*${delimiter}("(?:[^"]|"")*"|[^${delimiter}]*)${delimiter}`);
  return ({ line, errors }, text) =>
    [String(line), quoted(errors), isCorrected ? text.replace(old, '') : text].join(delimiter);
}

/** Returns the format of a file by its name and type, or null if an import does not accept it. */
export function formatOf({ name, type }: File): 'csv' | 'ndjson' | null {
  if (/\.(ndjson|jsonl)$/i.test(name) || type === 'application/x-ndjson') return 'ndjson';
  return /\.(csv|tsv|txt)$/i.test(name) || type === 'text/csv' ? 'csv' : null;
}

function quoted(errors: readonly FieldError[]): string {
  const text = errors.map(({ pointer = '', detail }) => `${pointer.slice(1)} ${detail}`.trim()).join('; ');
  return `"${text.replaceAll('"', '""')}"`;
}
