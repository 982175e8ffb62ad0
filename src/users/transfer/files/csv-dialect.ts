import { chain } from './paced';

/** How a CSV file separates cells and rows. */
export interface CsvDialect {
  delimiter: string;
  record_delimiter: string[];
  /** line of the header, from 1 */
  header_line: number;
}

/** First line that Excel writes and reads to name the delimiter. */
const separatorLine = /^"?sep=([,;\t])"?(?:\r\n|\n|\r)/i;
/** A CR at the end of a text may be the first half of a CRLF. */
const lineBreak = /\r\n|\n|\r(?!$)/g;

/**
 * Detects the dialect of a file, and returns it with the texts from the header line on.
 * The names of columns contain no delimiter, so the first delimiter in the header line is the
 * delimiter of the file. Statistics over the rows, as `csv-parse` offers, may be wrong.
 * @param lineMax maximum length of the first lines in characters
 */
export async function detectDialect(
  texts: AsyncGenerator<string>,
  lineMax: number,
): Promise<CsvDialect & { texts: AsyncGenerator<string> }> {
  let [head, breaks, held] = ['', 0, ''];
  while (head.length <= lineMax && breaks < 2) {
    const next = await texts.next();
    if (next.done === true) break;
    head += next.value;
    // Counts in the new text only: an upload may arrive in very small pieces.
    const text = held + next.value;
    breaks += text.match(lineBreak)?.length ?? 0;
    held = text.endsWith('\r') ? '\r' : '';
  }
  const [line = '', named] = separatorLine.exec(head) ?? [];
  const rest = head.slice(line.length);
  const [header = ''] = rest.split(/\r|\n/, 1);
  return {
    delimiter: named ?? /[,;\t]/.exec(header)?.[0] ?? ',',
    // Excel for Mac writes CR alone.
    record_delimiter: rest.match(lineBreak)?.[0] === '\r' ? ['\r\n', '\r'] : ['\r\n', '\n'],
    header_line: line === '' ? 1 : 2,
    texts: chain(rest, texts),
  };
}
