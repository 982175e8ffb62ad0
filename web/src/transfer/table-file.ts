import { fieldLabels, importColumns } from '../users/fields';
import { rawCellsOf, recordsOf, separatorLine } from './csv-records';

/** Character encodings in which spreadsheets save CSV files. */
export const encodings = ['utf-8', 'windows-1252'] as const;
/** Character encoding of a file. */
export type Encoding = (typeof encodings)[number];

/** How to read a CSV file with the columns of a spreadsheet. */
export interface TableForm {
  encoding: Encoding;
  delimiter: string;
  /** titles of the columns in the file */
  titles: string[];
  /** column of an import by title; '' = is not imported */
  columns: string[];
  /** values of all rows, for columns that the file does not have */
  fixed: Record<string, string>;
}

/** Columns of a file for correction, which an import ignores. */
export const ignoredColumns = ['import_line', 'import_errors'];
/** Columns that the rows of an import must have, and that are often the same for all rows. */
export const fixedColumns = ['user_type', 'carrier_id'];

/** Number of characters that are written at once. The browser holds the rest outside the heap. */
const pieceMax = 1_048_576;

/** Ignores upper case, spaces and punctuation: `E-Mail Adresse` means `E-Mail-Adresse`. */
const plain = (title: string) => title.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
const columnsByTitle = new Map<string, string>();
for (const column of [...importColumns, ...ignoredColumns])
  for (const title of [column, labelIn('en', column), labelIn('de', column)])
    // The label "Carrier" stands for the carrier of a user rather than for the carriers of a scope.
    if (!columnsByTitle.has(plain(title))) columnsByTitle.set(plain(title), column);

/** Returns the label of a column, or its name if it has none. */
export function labelIn(language: 'en' | 'de', column: string): string {
  return (fieldLabels[language] as Record<string, string>)[column] ?? column;
}

/** Returns the column of an import that a title means, or '' for an unknown title. */
export function columnOf(title: string): string {
  return columnsByTitle.get(plain(title)) ?? '';
}

/** Returns the encoding of a file: UTF-8, unless its bytes are not valid UTF-8. */
export async function encodingOf(file: Blob): Promise<Encoding> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const reader: ReadableStreamDefaultReader<Uint8Array> = file.stream().getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read())
      decoder.decode(read.value, { stream: true });
    decoder.decode();
    return 'utf-8';
  } catch {
    await reader.cancel();
    return 'windows-1252';
  }
}

/**
 * Reads the header of a CSV file, and finds the columns that its titles mean.
 * @param before the form of a file that was read before; kept if the titles are the same
 */
export async function tableFormOf(file: Blob, encoding: Encoding, before?: TableForm | null): Promise<TableForm> {
  let titles: string[] = [];
  let delimiter: string | undefined;
  for await (const { text } of recordsOf(file, true, encoding)) {
    const isSeparator = separatorLine.test(text);
    delimiter ??= /[,;\t]/.exec(text)?.[0];
    if (isSeparator) continue;
    titles = rawCellsOf(text, delimiter ?? ',').map(textOfCell);
    break;
  }
  while (titles.at(-1) === '') titles.pop();
  if (before?.titles.join('\n') === titles.join('\n')) return { ...before, encoding, delimiter: delimiter ?? ',' };
  const found = titles.map(columnOf);
  const columns = found.map((column, index) => (found.indexOf(column) === index ? column : ''));
  const fixed: Record<string, string> = columns.includes('user_type') ? {} : { user_type: 'carrier' };
  return { encoding, delimiter: delimiter ?? ',', titles, columns, fixed };
}

/** Returns whether the service can read a file as it is. */
function isPlainTable({ encoding, titles, columns, fixed }: TableForm): boolean {
  const isUnchanged = titles.every((title, index) => title === columns[index]);
  return encoding === 'utf-8' && isUnchanged && Object.values(fixed).every((value) => value === '');
}

/**
 * Returns a file in the form of the service: in UTF-8, with the names of its columns, without the
 * columns that are not imported, and with the values of all rows. Keeps the line of each row, and
 * streams the file, because it may not fit into memory.
 */
export async function toImportFile(file: File, form: TableForm): Promise<File> {
  if (isPlainTable(form)) return file;
  const { encoding, delimiter, titles, columns } = form;
  const fixed = Object.entries(form.fixed).filter(([, value]) => value !== '');
  const kept = columns.flatMap((column, index) => (column === '' ? [] : [index]));
  const write = (values: string[], cells: string[]) =>
    [...values, ...kept.map((index) => cells[index] ?? ''), ...cells.slice(titles.length).filter(Boolean)].join(
      delimiter,
    );
  const header = write(
    fixed.map(([column]) => column),
    columns,
  );
  const values = fixed.map(([, value]) => quotedCell(value));
  const parts: Blob[] = [];
  let text = '';
  let isHeaderRead = false;
  for await (const { text: record } of recordsOf(file, true, encoding)) {
    const isHeader: boolean = !isHeaderRead && !separatorLine.test(record);
    const cells = rawCellsOf(record, delimiter);
    const isEmpty = cells.every((cell) => cell === '');
    text += `${isHeader ? header : !isHeaderRead || isEmpty ? record : write(values, cells)}\r\n`;
    isHeaderRead ||= isHeader;
    if (text.length < pieceMax) continue;
    parts.push(new Blob([text]));
    text = '';
  }
  return new File([...parts, text], file.name, { type: 'text/csv', lastModified: file.lastModified });
}

/** Returns the texts of rows by line and column, to show the values that were rejected. */
export async function cellsAt(
  file: File,
  isCsv: boolean,
  lines: readonly number[],
): Promise<Map<number, Record<string, string>>> {
  const wanted = new Set(lines);
  const found = new Map<number, Record<string, string>>();
  let header: { delimiter: string; titles: string[] } | null = null;
  for await (const { line, text } of recordsOf(file, isCsv)) {
    if (found.size === wanted.size) break;
    if (isCsv && header === null) {
      const delimiter = /[,;\t]/.exec(text)?.[0] ?? ',';
      if (!separatorLine.test(text)) header = { delimiter, titles: rawCellsOf(text, delimiter).map(textOfCell) };
    } else if (wanted.has(line)) found.set(line, header === null ? jsonCells(text) : csvCells(text, header));
  }
  return found;
}

function csvCells(record: string, { delimiter, titles }: { delimiter: string; titles: string[] }) {
  const cells = rawCellsOf(record, delimiter).map(textOfCell);
  return Object.fromEntries(titles.map((title, index) => [title, cells[index] ?? '']));
}

function jsonCells(text: string): Record<string, string> {
  try {
    const values = Object.entries(JSON.parse(text) as Record<string, unknown>);
    return Object.fromEntries(values.map(([name, one]) => [name, typeof one === 'string' ? one : JSON.stringify(one)]));
  } catch {
    return {};
  }
}

/** Columns of a template. The console asks for the user type. */
const templateColumns = ['name', 'email', 'first_name', 'last_name', 'phone', 'carrier_id', 'roles', 'locale'];

/**
 * Returns an empty CSV file with titles in a language, in the form that spreadsheets in it expect.
 */
export function templateIn(language: 'en' | 'de'): Blob {
  const titles = templateColumns.map((column) => labelIn(language, column));
  return new Blob([`\ufeff${titles.join(language === 'de' ? ';' : ',')}\r\n`], { type: 'text/csv' });
}

/** Returns the text of an unparsed cell. */
function textOfCell(cell: string): string {
  return (/^"([^]*)"$/.exec(cell)?.[1]?.replaceAll('""', '"') ?? cell).trim();
}

/** Returns a text as a cell of a CSV file with any delimiter. */
function quotedCell(text: string): string {
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
