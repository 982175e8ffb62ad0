import type { FieldError } from '../api/problems';
import { rawCellsOf, recordsOf, separatorLine } from './csv-records';

/** A row that an import would skip. */
export interface BadRow {
  /** first line of the row in the file, from 1 */
  line: number;
  errors: readonly FieldError[];
}

/**
 * Returns a file that contains only the bad rows of a file, for correction. A CSV file starts with
 * the columns `import_line` and `import_errors`, which an import ignores. They replace those of an
 * earlier correction. Other cells are unchanged. Streams the file, because it may not fit into
 * memory.
 */
export async function badRowsOf(file: File, rows: readonly BadRow[]): Promise<Blob> {
  const isCsv = formatOf(file) === 'csv';
  const byLine = new Map(rows.map((row) => [row.line, row]));
  const parts: string[] = [];
  let rowOf = (_row: BadRow, text: string) => text;
  let isHeaderRead = !isCsv;
  for await (const { line, text } of recordsOf(file, isCsv)) {
    const row = byLine.get(line);
    if (!isHeaderRead && separatorLine.test(text)) parts.push(text);
    else if (!isHeaderRead) {
      const correction = correctionOf(text);
      parts.push(correction.header);
      rowOf = correction.rowOf;
      isHeaderRead = true;
    } else if (row !== undefined) {
      parts.push(rowOf(row, text));
      byLine.delete(line);
      if (byLine.size === 0) break;
    }
  }
  return new Blob([`${parts.join('\r\n')}\r\n`], { type: isCsv ? 'text/csv' : 'application/x-ndjson' });
}

const ignoredColumns = ['import_line', 'import_errors'];

/** Returns functions that write the header and the rows of a correction. */
function correctionOf(header: string) {
  const delimiter = /[,;\t]/.exec(header)?.[0] ?? ',';
  const names = rawCellsOf(header, delimiter).map((name) => name.replace(/^"(.*)"$/, '$1'));
  const write = (added: string[], record: string) => {
    const kept = rawCellsOf(record, delimiter).filter((_cell, index) => !ignoredColumns.includes(names[index] ?? ''));
    return [...added, ...kept].join(delimiter);
  };
  return {
    header: write(ignoredColumns, header),
    rowOf: ({ line, errors }: BadRow, text: string) => write([String(line), quoted(errors)], text),
  };
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
