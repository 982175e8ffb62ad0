import { Readable } from 'node:stream';
import fc from 'fast-check';
import { UploadedFile } from '../../src/http/bodies/upload';
import { readFile } from '../../src/users/transfer/files/import-file';
import { importColumns } from '../../src/users/transfer/files/transfer-columns';
import { badRowsOf } from '../../web/src/transfer/bad-rows';
import { importColumns as namedColumns } from '../../web/src/users/fields';

const text = fc.constantFrom('a', 'é', ' ', '0');
const quotable = fc.constantFrom('a', ',', '\r', '\n', '\r\n', '""');
const plainCell = (inner: string) => fc.array(fc.oneof(text, fc.constant(inner)), { maxLength: 3 });
const quotedCell = fc.array(quotable, { maxLength: 4 }).map((parts) => [`"${parts.join('')}"`]);
const cellOf = (inner: string) => fc.oneof(plainCell(inner), quotedCell).map((parts) => parts.join(''));

/** Files whose rows end with one kind of line break, with the other kinds in their cells. */
const files = fc.constantFrom('\r\n', '\n', '\r').chain((end) =>
  fc
    .record({
      first: fc.constantFrom('', 'sep=,\r\n', 'sep=,\r', '"sep=,"\n'),
      rows: fc.array(fc.tuple(cellOf(end === '\r' ? '\n' : '\r'), cellOf('')), { minLength: 1, maxLength: 6 }),
    })
    .map(({ first, rows }) => {
      const records = rows.map(([one, other], index) => `n${index},${one},${other}`);
      return [`${first}name,first_name,last_name`, ...records, ''].join(end);
    }),
);

const errors = [{ pointer: '/name', code: 'field.malformed', detail: 'is bad' }];
const linesOf = async (format: UploadedFile['format'], content: string) => {
  const read = [];
  const upload = new UploadedFile(format, Readable.from([Buffer.from(content)], { objectMode: false }), Infinity);
  for await (const { line, values = {} } of readFile(upload)) read.push({ line, values });
  return read;
};
const corrected = async (content: string, lines: number[], name = 'people.csv') => {
  const blob = await badRowsOf(
    new File([content], name),
    lines.map((line) => ({ line, errors })),
  );
  return blob.text();
};

describe('the correction file of an import', () => {
  it('contains the rows that the service read at these lines, for any line break', async () => {
    await fc.assert(
      fc.asyncProperty(files, async (content) => {
        const read = await linesOf('csv', content);
        for (const { line, values } of read) {
          const found = await linesOf('csv', await corrected(content, [line]));
          expect(found.map((row) => row.values['name'])).toEqual([values['name']]);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('ends NDJSON lines only at LF, as the service does', async () => {
    const content = '{"name":\r"a"}\r\n\r\n{"name":"b"}\n{"name":"c"}';
    const read = await linesOf('ndjson', content);
    expect(read.map(({ line }) => line)).toEqual([1, 3, 4]);
    expect(await corrected(content, [3, 4], 'people.ndjson')).toBe('{"name":"b"}\r\n{"name":"c"}\r\n');
    expect(await corrected(content, [1], 'people.ndjson')).toBe('{"name":\r"a"}\r\n');
  });

  it.each([
    ['quoted cells', '"import_line";"import_errors";"name";"email"\r\n"9";"email; is ""bad""";"a";"x;y"\r\n'],
    ['their columns elsewhere', 'name;import_errors;email;import_line\r\n"a";"email; is bad";"x;y";9\r\n'],
    ['one of their columns', 'name;email;import_errors\r\n"a";"x;y"\r\n'],
  ])('can be corrected again after a spreadsheet saved it with %s', async (_title, content) => {
    const [header, row] = (await corrected(content, [2])).split('\r\n');
    expect(header?.replaceAll('"', '')).toBe('import_line;import_errors;name;email');
    expect(row).toBe('2;"name is bad";"a";"x;y"');
  });
});

it('lists on the import page the columns that the service reads', () => {
  expect(namedColumns).toEqual(Object.keys(importColumns));
});
