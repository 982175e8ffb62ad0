import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CsvError, parse } from 'csv-parse';
import { AppError, type FieldError, invalid } from '../common/errors/app-error';
import { readJson } from '../common/http/body-parsers';
import type { UploadedFile } from '../common/http/upload';
import { unguarded } from './csv-formula';
import { type ColumnKind, importColumns } from './transfer-columns';

/** A row as it was in the file, or why it is none. */
export interface ImportLine {
  /** where it begins, from 1 */
  line: number;
  values?: Record<string, unknown>;
  fault?: FieldError;
  /** characters that it has, about */
  size: number;
}

/** Approximate size in characters of an invalid row, of which only the fault is stored. */
export const faultSize = 100;
/**
 * Longest row; whatever a user holds, their row of an export is shorter: 1,000 carriers of a scope,
 * and attributes of which each character is a quote.
 */
const lineMax = 131_072;
/**
 * Bytes that are parsed in one go. Everybody else gets their turn in between; and a parser that has
 * many short rows at hand gives them out ever more slowly.
 */
const pieceMax = 2_048;

/**
 * The rows of a file as they come in, one after the other: as slow as whoever takes them. A row
 * that cannot be read is told as such; a file that cannot be read ends with an error that names the
 * line.
 * @throws request.invalid
 */
export function readFile(file: UploadedFile): AsyncGenerator<ImportLine> {
  return file.format === 'csv' ? readCsv(file) : readNdjson(file);
}

/** UTF-8 without exceptions; a byte order mark at the beginning is skipped. */
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
    if (code === 'ECONNRESET') throw fileFault('has broken off');
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
    if (rest.length > lineMax) throw fileFault(`has a line of more than ${lineMax} characters`, line + 1);
  }
  yield* readJsonLine(rest, line + 1);
}

function* readJsonLine(text: string, line: number): Generator<ImportLine> {
  if (text.length > lineMax) throw fileFault(`has a line of more than ${lineMax} characters`, line);
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
  // what goes wrong there comes out of the parser too
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
      return [{ pointer: '', code: 'field.unknown', detail: `line 1, column ${index + 1}: is no column of an import` }];
    return names.indexOf(name) < index
      ? [{ pointer: `/${name}`, code: 'field.malformed', detail: 'line 1: has the column twice' }]
      : [];
  });
  if (errors.length > 0) throw invalid(...errors.slice(0, 20));
  return names;
}

/** An empty cell is no value. */
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
        fault: { pointer: `/${name}`, code: 'field.malformed', detail: 'must not have NUL' },
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

function readCell(cell: string, kind: ColumnKind): unknown {
  // spreadsheets write them in capitals
  if (kind === 'boolean') return /^true$/i.test(cell) || (/^false$/i.test(cell) ? false : cell);
  if (kind !== 'json') return unguarded(cell);
  try {
    const { value, ...more } = readJson(`{"value":${unguarded(cell)}}`);
    return Object.keys(more).length === 0 ? value : undefined;
  } catch {
    return undefined;
  }
}

function csvFault({ code }: CsvError): string {
  if (code === 'CSV_MAX_RECORD_SIZE') return `has a row of more than ${lineMax} characters`;
  return code === 'CSV_QUOTE_NOT_CLOSED' ? 'has a quote that is not closed' : 'has a quote in the wrong place';
}

function fileFault(wants: string, line?: number): AppError {
  return invalid({
    pointer: '',
    code: 'field.malformed',
    detail: line === undefined ? wants : `line ${line}: ${wants}`,
  });
}
