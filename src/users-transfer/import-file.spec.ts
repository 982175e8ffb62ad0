import { Readable } from 'node:stream';
import { readFile } from './import-file';

describe('files of an import', () => {
  it.each([
    ['csv', 'name,email\n', 'é,b\n'],
    ['ndjson', '', '{"é":1}\n'],
  ] as const)('%s: everybody else gets their turn while one is read, and no character is torn', async (format, header, row) => {
    const rows = 4_096;
    const bytes = Readable.from([Buffer.from(header + row.repeat(rows))], { objectMode: false });
    let [turns, reading] = [0, true];
    const turn = () => {
      turns++;
      if (reading) setImmediate(turn);
    };
    setImmediate(turn);
    let read = 0;
    for await (const { values } of readFile({ format, bytes })) if (JSON.stringify(values).includes('é')) read++;
    reading = false;
    expect(read).toBe(rows);
    expect(turns).toBeGreaterThan(8);
  });
});
