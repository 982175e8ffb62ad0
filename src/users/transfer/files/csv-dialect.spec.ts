import { detectDialect } from './csv-dialect';

describe('the dialect of a CSV file', () => {
  const lineMax = 131_072;

  async function* inPieces(text: string, length: number): AsyncGenerator<string> {
    for (let at = 0; at < text.length; at += length) yield await Promise.resolve(text.slice(at, at + length));
  }

  it('is detected in linear time if a long header arrives in pieces of one character', async () => {
    const before = process.cpuUsage();
    const { delimiter } = await detectDialect(inPieces(`a;${'b'.repeat(lineMax)}`, 1), lineMax);
    expect(delimiter).toBe(';');
    // Processor time, because the checks run beside other work. Linear work takes 0.1 s of it.
    expect(process.cpuUsage(before).user).toBeLessThan(3_000_000);
  });

  it.each([
    ['sep=;\r\na,b;c\r\n1;2\r\n', { delimiter: ';', record_delimiter: ['\r\n', '\n'], header_line: 2 }],
    ['a\tb\r1\t2\r', { delimiter: '\t', record_delimiter: ['\r\n', '\r'], header_line: 1 }],
    ['a;b\r1;2', { delimiter: ';', record_delimiter: ['\r\n', '\r'], header_line: 1 }],
    ['a\nb\n', { delimiter: ',', record_delimiter: ['\r\n', '\n'], header_line: 1 }],
    ['a,sep=;\n1\n', { delimiter: ',', record_delimiter: ['\r\n', '\n'], header_line: 1 }],
    ['a,b\n1,2\n', { delimiter: ',', record_delimiter: ['\r\n', '\n'], header_line: 1 }],
  ])('of %j does not depend on the pieces', async (text, dialect) => {
    for (const length of [1, 2, 3, text.length]) {
      const { texts, ...found } = await detectDialect(inPieces(text, length), lineMax);
      expect(found).toEqual(dialect);
      let rest = '';
      for await (const piece of texts) rest += piece;
      expect(text.endsWith(rest) && rest.startsWith('a')).toBe(true);
    }
  });

  it.each([
    [['a\n', '1\n', '2\n', '3\n'], 9, 2],
    [['a\r', '\nb\r', '\nc\r', 'd'], 9, 3],
    [['aaaa', 'b', 'c', 'd'], 4, 2],
  ])('is detected in the first lines of %j, and the file is closed', async (pieces, max, read) => {
    const seen = { pieces: 0, isClosed: false };
    async function* file(): AsyncGenerator<string> {
      try {
        for (const piece of pieces) yield await Promise.resolve((seen.pieces++, piece));
      } finally {
        seen.isClosed = true;
      }
    }
    const { texts } = await detectDialect(file(), max);
    expect(seen).toEqual({ pieces: read, isClosed: false });
    for await (const text of texts) if (text !== '') break;
    expect(seen).toEqual({ pieces: read, isClosed: true });
  });
});
