/** A record of a file, unparsed and without its line break. */
interface FileRecord {
  /** line at which the record starts, from 1 */
  line: number;
  text: string;
}

/** Line that spreadsheets write before the header to declare the delimiter. */
export const separatorLine = /^"?sep=[,;\t]"?$/i;
/** A CR at the end of a text may be the first half of a CRLF. */
const csvPiece = /\r\n|\n|\r(?!$)|"/g;
const jsonPiece = /\r?\n/g;

/**
 * Yields the records of a CSV or NDJSON file, with the line numbers of the service. In CSV, each
 * CRLF, LF and CR starts a line, as in editors, also within quotes. The first line break after the
 * header tells whether a CR alone or an LF alone ends a record. The other character, alone, is part
 * of a cell.
 */
export async function* recordsOf(file: Blob, isCsv: boolean, encoding = 'utf-8'): AsyncGenerator<FileRecord> {
  let [line, start, text, isQuoted] = [1, 1, '', false];
  /** line break that is part of a cell; null before the end of the header */
  let inner: '\r' | '\n' | null = null;
  const piece = new RegExp(isCsv ? csvPiece : jsonPiece);
  for await (const read of textsOf(file, encoding)) {
    let from = 0;
    const input = text + read;
    // The carried text was already searched, except for a CR at its end.
    piece.lastIndex = Math.max(0, text.length - (text.endsWith('\r') ? 1 : 0));
    for (let match = piece.exec(input); match !== null; match = piece.exec(input)) {
      const [found] = match;
      if (found === '"') {
        isQuoted = !isQuoted;
        continue;
      }
      line++;
      if (isQuoted || found === inner) continue;
      const record = input.slice(from, match.index);
      if (isCsv && !separatorLine.test(record)) inner ??= found === '\r' ? '\n' : '\r';
      yield { line: start, text: record };
      from = piece.lastIndex;
      start = line;
    }
    text = input.slice(from);
  }
  const rest = text.replace(/\r$/, '');
  if (rest !== '') yield { line: start, text: rest };
}

/** Returns the cells of a record of a CSV file, unparsed. */
export function rawCellsOf(record: string, delimiter: string): string[] {
  const cells: string[][] = [];
  let isQuoted = false;
  for (const part of record.split(delimiter)) {
    if (isQuoted) cells.at(-1)?.push(part);
    else cells.push([part]);
    // An odd number of quotes opens or closes a quoted cell.
    if (part.split('"').length % 2 === 0) isQuoted = !isQuoted;
  }
  return cells.map((parts) => parts.join(delimiter));
}

/** Yields the text of a file in pieces, without a byte order mark. */
async function* textsOf(file: Blob, encoding: string): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding);
  const reader: ReadableStreamDefaultReader<Uint8Array> = file.stream().getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read())
    yield decoder.decode(read.value, { stream: true });
}
