import { Readable } from 'node:stream';
import { UploadedFile } from '../../../http/bodies/upload';
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

  const dialects: [string, string][] = [
    ['comma and CRLF', 'name,roles,first_name\r\na,x;y,"1\n2,""3"\r\nb,,\r\n'],
    ['semicolon and LF', 'name;roles;first_name\na;"x;y";"1\n2,""3"\nb;;\n'],
    ['tab and a byte order mark', '\ufeffname\troles\tfirst_name\r\na\tx;y\t"1\n2,""3"\r\nb\t\t\r\n'],
    ['CR alone', 'name;roles;first_name\ra;"x;y";"1\n2,""3"\rb\r'],
    ['quoted names and no last line break', '"name";"roles";"first_name"\r\na;"x;y";"1\n2,""3"\r\nb'],
    ['empty columns and rows', 'name,roles,first_name,,\r\na,x;y,"1\n2,""3",,\r\n,,,,\r\nb,,,,\r\n,,,,\r\n'],
    ['missing delimiters at the end of rows', 'name;roles;first_name;locale\r\na;"x; y ;";"1\n2,""3"\r\nb\r\n'],
    ['lists as JSON', 'name,roles,first_name\na,"[""x"", ""y""]","1\n2,""3"\nb\n'],
    ['ignored columns', 'import_line,name,roles,first_name,import_errors\n7,a,x;y,"1\n2,""3",/name no\n9,b\n'],
  ];
  it.each(dialects)('csv: reads the same rows with %s, however the bytes are split', async (_title, text) => {
    const wanted = [{ name: 'a', roles: ['x', 'y'], first_name: '1\n2,"3' }, { name: 'b' }];
    for (const size of [1, 7, 1_000]) {
      const bytes = Buffer.from(text);
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.subarray(i * size, (i + 1) * size),
      );
      const read = [];
      for await (const line of readFile(new UploadedFile('csv', Readable.from(pieces), Infinity)))
        read.push(line.values);
      expect([size, read]).toEqual([size, wanted]);
    }
  });

  it.each([
    ['sep=;', ';'],
    ['"sep=\t"', '\t'],
    ['SEP=,', ','],
  ])('csv: takes the delimiter from a first line %s, and counts the line', async (first, delimiter) => {
    const rows = [['name', 'last_name'], ['a', 'b'], [], ['', ''], ['c', 'd', 'e']];
    const text = [first, ...rows.map((cells) => cells.join(delimiter))].join('\r\n');
    const read = [];
    for await (const { line, values, faults } of readFile(fileOf('csv', text)))
      read.push([line, values ?? faults?.map(({ detail }) => detail)]);
    expect(read).toEqual([
      [3, { name: 'a', last_name: 'b' }],
      [6, ['must have at most 2 cells']],
    ]);
    const unknown = readFile(fileOf('csv', `${first}\r\nnmae${delimiter}name\r\n`)).next();
    await expect(unknown).rejects.toMatchObject({
      extras: { errors: [{ detail: 'line 2, column 1: is not a column of an import' }] },
    });
  });

  it.each([
    ['LF', 'name,last_name\na,"1\r2\r\n3\n"\nb,\r\nc,\n'],
    ['CR', 'name,last_name\ra,"1\r2\r\n3\n"\rb,\n\rc,\r'],
  ])('csv: counts the lines of a file with %s as editors do, also within cells', async (_title, text) => {
    const read = [];
    for await (const { line, values } of readFile(fileOf('csv', text))) read.push([line, values?.['name']]);
    expect(read).toEqual([
      [2, 'a'],
      [6, 'b'],
      [text.includes(',\n\r') ? 8 : 7, 'c'],
    ]);
  });

  it('csv: rejects a header with more than 200 columns, and names 20 wrong ones of fewer (H30)', async () => {
    const read = (count: number) => readFile(fileOf('csv', `${'a,'.repeat(count - 1)}a\n`)).next();
    await expect(read(201)).rejects.toMatchObject({
      extras: { errors: [{ params: { line: 1, max: 200, unit: 'columns' } }] },
    });
    await expect(read(200)).rejects.toMatchObject({ extras: { members: { errors_omitted: 180 } } });
  });

  it.each([
    ['colour', '/colour'],
    ['a/b', '/a~1b'],
    ['é'.repeat(200), `/${'é'.repeat(64)}`],
    ['evil\u202ename', ''],
    [',email', ''],
    ['\0', ''],
  ])('csv: names the start of an unknown column %j, unless it has invisible characters', async (column, pointer) => {
    const read = readFile(fileOf('csv', `name,${column}\n`)).next();
    await expect(read).rejects.toMatchObject({ extras: { errors: [{ pointer, code: 'field.unknown' }] } });
  });

  const tooLong = { max: 131_072, unit: 'characters' };
  const long = 'x'.repeat(131_073);
  it.each<[string, 'csv' | 'ndjson', string, object, string?]>([
    ['line 1: must have a header line', 'csv', '', { line: 1 }],
    ['line 1: must have a header line', 'csv', ',\n', { line: 1 }],
    ['line 1, column 2: is not a column of an import', 'csv', 'name,nmae\r\nx,y', { line: 1, column: 2 }, '/nmae'],
    ['line 1: must not repeat the column', 'csv', 'name,name\r\nx,y', { line: 1 }, '/name'],
    ['line 2: must not have a quote within a cell without quotes', 'csv', 'name\r\na"b\r\n', { line: 2 }],
    ['line 3: must close each quote', 'csv', 'name\r\nok\r\n"open', { line: 3 }],
    [
      'line 2: must have rows of at most 131072 characters',
      'csv',
      `name\n${long.repeat(2)}\n`,
      { line: 2, ...tooLong },
    ],
    ['line 2: must have lines of at most 131072 characters', 'ndjson', `\n${long}`, { line: 2, ...tooLong }],
    ['line 2: must have lines of at most 131072 characters', 'ndjson', `\n${long}\n`, { line: 2, ...tooLong }],
    ['must be UTF-8', 'ndjson', '\ufffd', {}],
  ])('rejects an unreadable file: %s (%s)', async (detail, format, text, params, pointer = '') => {
    const bytes = Buffer.from(text === '\ufffd' ? [0xff] : Buffer.from(text));
    const read = async () => {
      const file = new UploadedFile(format, Readable.from([bytes], { objectMode: false }), Infinity);
      for await (const line of readFile(file)) expect(line.faults ?? []).toEqual([]);
    };
    const code = detail.endsWith('of an import') ? 'field.unknown' : 'field.malformed';
    const error = { pointer, code, detail, ...(text !== '\ufffd' && { params }) };
    await expect(read()).rejects.toMatchObject({ code: 'request.invalid', extras: { errors: [error] } });
  });

  it.each([
    ['ECONNRESET', 'request.invalid'],
    ['EIO', 'EIO'],
  ])('rejects an upload that ends with %s as %s', async (code, thrown) => {
    const failed = Readable.from(
      (function* () {
        yield Buffer.from('{}');
        throw Object.assign(new Error('lost'), { code });
      })(),
    );
    const read = readFile(new UploadedFile('ndjson', failed, Infinity)).next();
    await expect(read).rejects.toMatchObject({ code: thrown });
  });

  it('ndjson: returns the rows with their lines and sizes, and a fault for a line that is not an object', async () => {
    const read = [];
    const longest = `{"a":"${'x'.repeat(131_072 - 8)}"}`;
    for await (const line of readFile(fileOf('ndjson', `{"a":1}\n \n[]\n{\n${longest}\n{"b":2}`))) read.push(line);
    const fault = { pointer: '', code: 'field.malformed', detail: 'must be a JSON object' };
    expect(read).toEqual([
      { line: 1, values: { a: 1 }, size: 7 },
      { line: 3, faults: [expect.anything()], size: 100 },
      { line: 4, faults: [fault], size: 100 },
      { line: 5, values: { a: expect.any(String) }, size: 131_072 },
      { line: 6, values: { b: 2 }, size: 7 },
    ]);
  });

  it('csv: returns the size of a row, and names each cell and each row that cannot be read', async () => {
    const read = [];
    const text = 'name,roles,attributes,last_name\na,"[""x""",{b},c\0\nb,,,,e\nccc\n';
    for await (const line of readFile(fileOf('csv', text))) read.push(line);
    const code = 'field.malformed';
    const faults = [
      { pointer: '/roles', code, detail: 'must be JSON' },
      { pointer: '/attributes', code, detail: 'must be JSON' },
      { pointer: '/last_name', code, detail: 'must not contain NUL' },
    ];
    const cells = { pointer: '', code, detail: 'must have at most 4 cells', params: { max: 4, unit: 'cells' } };
    expect(read).toEqual([
      { line: 2, values: { name: 'a', roles: '["x"', attributes: '{b}', last_name: 'c\0' }, faults, size: 38 },
      { line: 3, faults: [cells], size: 100 },
      { line: 4, values: { name: 'ccc' }, faults: [], size: 7 },
    ]);
  });
});
