import { Readable } from 'node:stream';
import { UploadedFile } from '../common/http/upload';
import { readFile } from './import-file';

const fileOf = (format: UploadedFile['format'], text: string) =>
  new UploadedFile(format, Readable.from([Buffer.from(text)], { objectMode: false }), Infinity);

describe('files of an import', () => {
  it.each([
    ['csv', 'name,email\n', 'é,b\n'],
    ['ndjson', '', '{"é":1}\n'],
  ] as const)('%s: yields to other work while it reads, and splits no character', async (format, header, row) => {
    const rows = 4_096;
    const file = fileOf(format, header + row.repeat(rows));
    let [turns, reading] = [0, true];
    const turn = () => {
      turns++;
      if (reading) setImmediate(turn);
    };
    setImmediate(turn);
    let read = 0;
    for await (const { values } of readFile(file)) if (JSON.stringify(values).includes('é')) read++;
    reading = false;
    expect(read).toBe(rows);
    expect(turns).toBeGreaterThan(8);
  });

  it.each([
    ['true', true],
    ['TRUE', true],
    ['False', false],
    ['yes', 'yes'],
    ["'true", "'true"],
  ])('csv: reads %s, as a spreadsheet saves it, as %p', async (cell, must_change_password) => {
    const file = fileOf('csv', `name,must_change_password\nx,${cell}\n`);
    const read = [];
    for await (const line of readFile(file)) read.push(line.values);
    expect(read).toEqual([{ name: 'x', must_change_password }]);
  });
});
