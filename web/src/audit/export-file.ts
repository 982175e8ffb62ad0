import type { AuditEvent, AuditQuery, readEvents } from './data';

/** Formats of exported files. */
export type ExportFormat = 'csv' | 'ndjson';

/** Maximum number of events in a file. */
export const exportMax = 10_000;
const perPage = 500;

interface EventExport {
  query: AuditQuery;
  format: ExportFormat;
  read: typeof readEvents;
  signal: AbortSignal;
  /** Receives the number of events so far. */
  onProgress: (count: number) => void;
  /** last line of a CSV file that does not contain all events */
  cutNote: string;
}

/**
 * Reads the events of a filter page by page, and returns them as a file. A file that does not
 * contain all events ends with a line that says so.
 */
export async function exportEvents(settings: EventExport): Promise<{ file: Blob; count: number; isCut: boolean }> {
  const { format, read, signal, onProgress, cutNote } = settings;
  const query: AuditQuery = { ...settings.query, per_page: perPage, count: 'none' };
  // The file starts with the first page, regardless of the page that the list shows.
  delete query.cursor;
  const lines = format === 'csv' ? [`\uFEFF${csvLine([...columns, 'changes'])}`] : [];
  let count = 0;
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof readEvents>> = await read(
      cursor === null ? query : { ...query, cursor },
      signal,
    );
    lines.push(...page.items.map(format === 'csv' ? csvRow : (event) => `${JSON.stringify(event)}\n`));
    count += page.items.length;
    cursor = page.next_cursor;
    onProgress(count);
  } while (cursor !== null && count < exportMax);
  const isCut = cursor !== null;
  if (isCut)
    lines.push(format === 'csv' ? csvLine([cutNote]) : `${JSON.stringify({ truncated: true, events: count })}\n`);
  return { file: new Blob(lines, { type: format === 'csv' ? 'text/csv' : 'application/x-ndjson' }), count, isCut };
}

const columns = [
  'occurred_at',
  'event_type',
  'actor_type',
  'actor_id',
  'target_type',
  'target_id',
  'carrier_id',
  'ip',
  'session_id',
  'operation_id',
  'request_id',
  'event_id',
] as const satisfies (keyof AuditEvent)[];

function csvRow(event: AuditEvent): string {
  return csvLine([...columns.map((name) => event[name] ?? ''), JSON.stringify(event.changes)]);
}
const csvLine = (cells: readonly string[]): string => `${cells.map(csvCell).join(',')}\r\n`;

/** Cells, and parts of cells, that a spreadsheet would run as a formula, as in `csv_cell`. */
const formula = /^'*[-=+@\t\r\n＝＋－＠]/;
const formulaPart = /([;\t\r\n])(?=['"]*[-=+@＝＋－＠])/g;

/** Quotes a cell. An apostrophe before a formula keeps spreadsheets from running it. */
export function csvCell(value: string): string {
  const guarded = (formula.test(value) ? "'" : '') + value.replace(formulaPart, "$1'");
  return /[",;\t\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}
