import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CsvError, parse } from 'csv-parse';
import { AppError, type Fault, type FieldError, invalid, limitFault } from '../../../http/errors/app-error';
import { readJson } from '../../../http/bodies/body-parsers';
import { parametersMax } from '../../../http/bodies/query-string';
import { pointerTo } from '../../../http/fields/field-rules';
import type { UploadedFile } from '../../../http/bodies/upload';
import { visibleText } from '../../../platform/text-forms';
import { readCell, unguarded } from './csv-cells';
import { detectDialect } from './csv-dialect';
import { ignoredColumns, importColumns } from './transfer-columns';

/** A row of a file: its values, or the faults that make the row invalid. */
export interface ImportLine {
  /** first line of the row, from 1 */
  line: number;
  /** values by column; absent if the row could not be read, or was found to be invalid */
  values?: Record<string, unknown>;
  /** faults; a row with a fault creates no user */
  faults?: FieldError[];
  /** texts of the cells of an invalid row, as they are kept for correction */
  cells?: Record<string, string>;
  /** approximate number of characters */
  size: number;
}

/** Approximate size in characters of the faults of a row. */
export const faultSize = 100;
/** Maximum length of a row in characters. Every exported user is shorter. */
const lineMax = 131_072;
const lengthLimit = { max: lineMax, unit: 'characters' };
/** Maximum length of a column name in an error, in characters. */
const nameMax = 64;
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
    if (rest.length > lineMax)
      throw fileFault(`must have lines of at most ${lineMax} characters`, line + 1, lengthLimit);
  }
  yield* readJsonLine(rest, line + 1);
}

function* readJsonLine(text: string, line: number): Generator<ImportLine> {
  if (text.length > lineMax) throw fileFault(`must have lines of at most ${lineMax} characters`, line, lengthLimit);
  if (text.trim() === '') return;
  try {
    yield { line, values: readJson(text), size: text.length };
  } catch (error) {
    const [fault = notJson] = error instanceof AppError ? (error.extras.errors ?? []) : [];
    yield { line, faults: [fault], size: faultSize };
  }
}

const notJson: FieldError = { pointer: '', code: 'field.malformed', detail: 'must be a JSON object' };

async function* readCsv(file: UploadedFile): AsyncGenerator<ImportLine> {
  const { delimiter, record_delimiter, header_line, texts } = await detectDialect(decode(file), lineMax);
  const parser = parse({ delimiter, record_delimiter, relax_column_count: true, max_record_size: lineMax });
  // The parser emits the errors of the pipeline, too.
  pipeline(texts, parser).catch(() => undefined);
  let header: string[] | null = null;
  let line = header_line;
  try {
    for await (const record of parser as AsyncIterable<string[]>) {
      if (header === null) header = readHeader(record, line);
      // Spreadsheets write rows of empty cells where cells were cleared.
      else if (record.some((cell) => cell !== '')) yield readRow(header, record, line);
      line += 1 + record.reduce((sum, cell) => sum + breaksIn(cell), 0);
    }
  } catch (error) {
    throw error instanceof CsvError ? csvFault(error, Number(error['lines']) + header_line - 1) : error;
  }
  if (header === null) throw fileFault('must have a header line', header_line);
}

/** Counts the line breaks in a cell. A CR alone is a line break, as in editors. */
function breaksIn(cell: string): number {
  return cell.match(/\r\n|\n|\r/g)?.length ?? 0;
}

function readHeader(cells: string[], line: number): string[] {
  const names = cells.slice(0, cells.findLastIndex((cell) => cell !== '') + 1);
  if (names.length === 0) throw fileFault('must have a header line', line);
  if (names.length > parametersMax)
    throw fileFault(`must have at most ${parametersMax} columns`, line, { max: parametersMax, unit: 'columns' });
  const errors = names.flatMap((name, index) => {
    if (!Object.hasOwn(importColumns, name) && !(ignoredColumns as readonly string[]).includes(name))
      return [
        {
          pointer: unknownPointer(name),
          code: 'field.unknown',
          detail: `line ${line}, column ${index + 1}: is not a column of an import`,
          params: { line, column: index + 1 },
        },
      ];
    return names.indexOf(name) < index ? [faultAt(`/${name}`, 'must not repeat the column', line)] : [];
  });
  if (errors.length > 0) throw invalid(...errors);
  return names;
}

/** Returns the pointer to an unknown column, or '' if its name has invisible characters. */
function unknownPointer(name: string): string {
  const start = [...name].slice(0, nameMax).join('');
  return start !== '' && visibleText.test(start) ? pointerTo(start) : '';
}

/**
 * Reads the cells of a row. An empty or missing cell is no value: Excel leaves out the delimiters
 * after the last cell of 16 rows.
 */
function readRow(header: string[], cells: string[], line: number): ImportLine {
  if (cells.slice(header.length).some((cell) => cell !== '')) {
    const fault = limitFault('field.malformed', { max: header.length, unit: 'cells' });
    return { line, faults: [{ pointer: '', ...fault }], size: faultSize };
  }
  const values: Record<string, unknown> = {};
  const faults: FieldError[] = [];
  let size = 0;
  for (const [index, name] of header.entries()) {
    const cell = cells[index] ?? '';
    if (cell === '' || !Object.hasOwn(importColumns, name)) continue;
    const value = readCell(cell, importColumns[name as keyof typeof importColumns]);
    const fault = cell.includes('\0') ? 'must not contain NUL' : value === undefined ? 'must be JSON' : null;
    if (fault !== null) faults.push({ pointer: `/${name}`, code: 'field.malformed', detail: fault });
    size += cell.length + name.length;
    values[name] = value === undefined ? unguarded(cell) : value;
  }
  return { line, values, faults, size };
}

function csvFault({ code }: CsvError, line: number): AppError {
  if (code === 'CSV_MAX_RECORD_SIZE')
    return fileFault(`must have rows of at most ${lineMax} characters`, line, lengthLimit);
  const isOpen = code === 'CSV_QUOTE_NOT_CLOSED';
  return fileFault(isOpen ? 'must close each quote' : 'must not have a quote within a cell without quotes', line);
}

function fileFault(wants: string, line?: number, params?: Fault['params']): AppError {
  return invalid(faultAt('', wants, line, params));
}

function faultAt(pointer: string, wants: string, line?: number, params?: Fault['params']): FieldError {
  const fault = { pointer, code: 'field.malformed' };
  return line === undefined
    ? { ...fault, detail: wants, params }
    : { ...fault, detail: `line ${line}: ${wants}`, params: { line, ...params } };
}
