/** A record of a file as it stands there, without its line break. */
interface FileRecord {
  /** line at which the record starts, from 1 */
  line: number;
  text: string;
}

/**
 * Yields the records of a file. A quoted cell of a CSV file may contain line breaks; a line of an
 * NDJSON file is a record.
 */
export async function* csvRecords(file: Blob, hasQuotes: boolean): AsyncGenerator<FileRecord> {
  let [line, start, text, isQuoted] = [1, 1, '', false];
  const piece = /\r\n|\n|\r(?!$)|"/g;
  for await (const read of textsOf(file)) {
    let from = 0;
    const input = text + read;
    // The text before was searched already, except a CR at its end.
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

/** `TextDecoder` removes a byte order mark. */
async function* textsOf(file: Blob): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = file.stream().getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read())
    yield decoder.decode(read.value, { stream: true });
}
