import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CsvError, parse } from 'csv-parse';
import { AppError, type FieldError, invalid } from '../common/errors/app-error';
import { readJson } from '../common/http/body-parsers';
import type { UploadedFile } from '../common/http/upload';
import { unguarded } from './csv-formula';
import type { CellForm } from '../users/user-fields';
import { importColumns } from './transfer-columns';

/** A row of a file: the values, or the fault that makes the row invalid. */
export interface ImportLine {
  /** first line of the row, from 1 */
  line: number;
  values?: Record<string, unknown>;
  fault?: FieldError;
  /** approximate number of characters */
  size: number;
}

/** Approximate size in characters of an invalid row, of which only the fault is stored. */
export const faultSize = 100;
/** Maximum length of a row in characters. Every exported user is shorter. */
const lineMax = 131_072;
/**
 * Maximum number of bytes to parse at once. The event loop runs between two pieces, and the parser
 * slows down if it holds many short rows.
 */
const pieceMax = 2_048;

/**
 * Yields the rows of a file while it is uploaded, with backpressure.
 * Yields the fault of a row that cannot be read. Throws an error with the line if the file itself
 * cannot be read.
 * @throws request.invalid
 */
export function readFile(file: UploadedFile): AsyncGenerator<ImportLine> {
  return file.format === 'csv' ? readCsv(file) : readNdjson(file);
}

/** Decodes UTF-8 strictly. Skips a byte order mark at the start. */
async function* decode(file: UploadedFile): AsyncGenerator<string> {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const chunk of file.read()) {
      for (let at = 0; at < chunk.length; at += pieceMax) {
        await nextTurn();
        yield utf8.decode(chunk.subarray(at, at + pieceMax), { stream: true });
      }
    }
    yield utf8.decode();
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'ECONNRESET') throw fileFault('must be complete; the upload broke off');
    throw code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? fileFault('must be UTF-8') : error;
  }
}

async function* readNdjson(file: UploadedFile): AsyncGenerator<ImportLine> {
  let line = 0;
  let rest = '';
  for await (const text of decode(file)) {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) yield* readJsonLine(part, ++line);
    if (rest.length > lineMax) throw fileFault(`must have lines of at most ${lineMax} characters`, line + 1);
  }
  yield* readJsonLine(rest, line + 1);
}

function* readJsonLine(text: string, line: number): Generator<ImportLine> {
  if (text.length > lineMax) throw fileFault(`must have lines of at most ${lineMax} characters`, line);
  if (text.trim() === '') return;
  try {
    yield { line, values: readJson(text), size: text.length };
  } catch (error) {
    const [fault] = error instanceof AppError ? (error.extras.errors ?? []) : [];
    yield {
      line,
      fault: fault ?? { pointer: '', code: 'field.malformed', detail: 'must be a JSON object' },
      size: faultSize,
    };
  }
}

async function* readCsv(file: UploadedFile): AsyncGenerator<ImportLine> {
  const parser = parse({ relax_column_count: true, max_record_size: lineMax, record_delimiter: ['\r\n', '\n'] });
  // The parser emits the errors of the pipeline, too.
  pipeline(decode(file), parser).catch(() => undefined);
  let header: string[] | null = null;
  let line = 1;
  try {
    for await (const record of parser as AsyncIterable<string[]>) {
      if (header === null) header = readHeader(record);
      else if (record.length > 1 || record[0] !== '') yield readRow(header, record, line);
      line += 1 + record.reduce((sum, cell) => sum + breaksIn(cell), 0);
    }
  } catch (error) {
    throw error instanceof CsvError ? fileFault(csvFault(error), Number(error['lines'])) : error;
  }
  if (header === null) throw fileFault('must have a header line', 1);
}

function breaksIn(cell: string): number {
  return cell.includes('\n') ? cell.split('\n').length - 1 : 0;
}

function readHeader(names: string[]): string[] {
  const errors = names.flatMap((name, index) => {
    if (!Object.hasOwn(importColumns, name))
      return [
        { pointer: '', code: 'field.unknown', detail: `line 1, column ${index + 1}: is not a column of an import` },
      ];
    return names.indexOf(name) < index
      ? [{ pointer: `/${name}`, code: 'field.malformed', detail: 'line 1: must not repeat the column' }]
      : [];
  });
  if (errors.length > 0) throw invalid(...errors.slice(0, 20));
  return names;
}

/** Reads the cells of a row. An empty cell is no value. */
function readRow(header: string[], cells: string[], line: number): ImportLine {
  if (cells.length !== header.length)
    return {
      line,
      fault: { pointer: '', code: 'field.malformed', detail: `must have ${header.length} cells` },
      size: faultSize,
    };
  const values: Record<string, unknown> = {};
  let size = 0;
  for (const [index, name] of header.entries()) {
    const cell = cells[index] ?? '';
    if (cell === '') continue;
    if (cell.includes('\0'))
      return {
        line,
        fault: { pointer: `/${name}`, code: 'field.malformed', detail: 'must not contain NUL' },
        size: faultSize,
      };
    size += cell.length + name.length;
    const read = readCell(cell, importColumns[name as keyof typeof importColumns]);
    if (read === undefined)
      return { line, fault: { pointer: `/${name}`, code: 'field.malformed', detail: 'must be JSON' }, size: faultSize };
    values[name] = read;
  }
  return { line, values, size };
}

function readCell(cell: string, form: CellForm): unknown {
  // Spreadsheets write booleans in upper case.
  if (form === 'boolean') return /^true$/i.test(cell) || (/^false$/i.test(cell) ? false : cell);
  if (form !== 'json') return unguarded(cell);
  try {
    const { value, ...more } = readJson(`{"value":${unguarded(cell)}}`);
    return Object.keys(more).length === 0 ? value : undefined;
  } catch {
    return undefined;
  }
}

function csvFault({ code }: CsvError): string {
  if (code === 'CSV_MAX_RECORD_SIZE') return `must have rows of at most ${lineMax} characters`;
  return code === 'CSV_QUOTE_NOT_CLOSED'
    ? 'must close each quote'
    : 'must not have a quote within a cell without quotes';
}

function fileFault(wants: string, line?: number): AppError {
  return invalid({
    pointer: '',
    code: 'field.malformed',
    detail: line === undefined ? wants : `line ${line}: ${wants}`,
  });
}
