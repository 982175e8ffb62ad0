/** A record of a file, unparsed and without its line break. */
interface FileRecord {
  /** line at which the record starts, from 1 */
  line: number;
  text: string;
}

/**
 * Yields the records of a CSV or NDJSON file.
 * @param hasQuotes whether quoted cells may contain line breaks, as in CSV
 */
export async function* recordsOf(file: Blob, hasQuotes: boolean): AsyncGenerator<FileRecord> {
  let [line, start, text, isQuoted] = [1, 1, '', false];
  const piece = /\r\n|\n|\r(?!$)|"/g;
  for await (const read of textsOf(file)) {
    let from = 0;
    const input = text + read;
    // The carried text was already searched, except for a CR at its end.
    piece.lastIndex = Math.max(0, text.length - (text.endsWith('\r') ? 1 : 0));
    for (let match = piece.exec(input); match !== null; match = piece.exec(input)) {
      if (match[0] === '"') {
        isQuoted = hasQuotes && !isQuoted;
        continue;
      }
      line++;
      if (isQuoted) continue;
      yield { line: start, text: input.slice(from, match.index) };
      from = piece.lastIndex;
      start = line;
    }
    text = input.slice(from);
  }
  const rest = text.replace(/\r$/, '');
  if (rest !== '') yield { line: start, text: rest };
}

/** Yields the text of a file in pieces, without a byte order mark. */
async function* textsOf(file: Blob): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = file.stream().getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read())
    yield decoder.decode(read.value, { stream: true });
}
