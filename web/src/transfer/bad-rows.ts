import type { FieldError } from '../api/problems';
import { rawCellsOf, recordsOf, separatorLine } from './csv-records';
import { ignoredColumns } from './table-file';

/** A row that an import would skip. */
export interface BadRow {
  /** first line of the row in the file, from 1 */
  line: number;
  errors: readonly FieldError[];
}

/**
 * Returns a file that contains only the bad rows of a file, for correction. A CSV file starts with
 * the columns `import_line` and `import_errors`, which an import ignores. They replace those of an
 * earlier correction. Other cells are unchanged. A byte order mark tells spreadsheets that the file
 * is UTF-8. Streams the file, because it may not fit into memory.
 * @param textOf returns why a field is invalid
 */
export async function badRowsOf(file: File, rows: readonly BadRow[], textOf = detailOf): Promise<Blob> {
  const isCsv = formatOf(file) === 'csv';
  const byLine = new Map(rows.map((row) => [row.line, row]));
  const parts: string[] = [];
  let rowOf = (_row: BadRow, text: string) => text;
  let isHeaderRead = !isCsv;
  for await (const { line, text } of recordsOf(file, isCsv)) {
    const row = byLine.get(line);
    if (!isHeaderRead && separatorLine.test(text)) parts.push(text);
    else if (!isHeaderRead) {
      const correction = correctionOf(text, textOf);
      parts.push(correction.header);
      rowOf = correction.rowOf;
      isHeaderRead = true;
    } else if (row !== undefined) {
      parts.push(rowOf(row, text));
      byLine.delete(line);
      if (byLine.size === 0) break;
    }
  }
  return new Blob([`${isCsv ? '\ufeff' : ''}${parts.join('\r\n')}\r\n`], {
    type: isCsv ? 'text/csv' : 'application/x-ndjson',
  });
}

type FieldText = (error: FieldError) => string;
const detailOf: FieldText = ({ detail }) => detail;

/** Returns functions that write the header and the rows of a correction. */
function correctionOf(header: string, textOf: FieldText) {
  const delimiter = /[,;\t]/.exec(header)?.[0] ?? ',';
  const names = rawCellsOf(header, delimiter).map((name) => name.replace(/^"(.*)"$/, '$1'));
  const write = (added: string[], record: string) => {
    const kept = rawCellsOf(record, delimiter).filter((_cell, index) => !ignoredColumns.includes(names[index] ?? ''));
    return [...added, ...kept].join(delimiter);
  };
  return {
    header: write(ignoredColumns, header),
    rowOf: ({ line, errors }: BadRow, text: string) => write([String(line), quoted(errors, textOf)], text),
  };
}

/** Returns the format of a file by its name and type, or null if an import does not accept it. */
export function formatOf({ name, type }: File): 'csv' | 'ndjson' | null {
  if (/\.(ndjson|jsonl)$/i.test(name) || type === 'application/x-ndjson') return 'ndjson';
  return /\.(csv|tsv|txt)$/i.test(name) || type === 'text/csv' ? 'csv' : null;
}

function quoted(errors: readonly FieldError[], textOf: FieldText): string {
  const text = errors.map((error) => `${error.pointer?.slice(1) ?? ''} ${textOf(error)}`.trim()).join('; ');
  return `"${text.replaceAll('"', '""')}"`;
}
