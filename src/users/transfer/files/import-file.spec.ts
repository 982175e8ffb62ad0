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
      extras: { errors: [{ detail: 'line 1: must have at most 200 columns' }] },
    });
    await expect(read(200)).rejects.toMatchObject({ extras: { members: { errors_omitted: 180 } } });
  });

  it.each([
    ['colour', '/colour'],
    ['a/b', '/a~1b'],
    ['é'.repeat(200), `/${'é'.repeat(64)}`],
    ['evil\u202ename', ''],
    ['\0', ''],
  ])('csv: names the start of an unknown column %j, unless it has invisible characters', async (column, pointer) => {
    const read = readFile(fileOf('csv', `name,${column}\n`)).next();
    await expect(read).rejects.toMatchObject({ extras: { errors: [{ pointer, code: 'field.unknown' }] } });
  });

  const header = 'user_type,name,email,carrier_id';
  it.each([
    ['line 1: must have a header line', ''],
    ['line 1, column 2: is not a column of an import', 'user_type,nmae\r\nx,y'],
    ['line 1: must not repeat the column', 'name,name\r\nx,y'],
    ['line 2: must not have a quote within a cell without quotes', `${header}\r\ncarrier,a"b,c,d\r\n`],
    ['line 3: must close each quote', `${header}\r\ncarrier,ok-1,ok-1@example.com,c1\r\ncarrier,"open`],
    ['line 2: must have rows of at most 131072 characters', `${header}\r\ncarrier,${'x'.repeat(140_000)},c,d\r\n`],
  ])('csv: rejects an unreadable file: %s', async (detail, text) => {
    const read = async () => {
      for await (const line of readFile(fileOf('csv', text))) expect(line.faults ?? []).toEqual([]);
    };
    await expect(read()).rejects.toMatchObject({ code: 'request.invalid', extras: { errors: [{ detail }] } });
  });

  it('csv: names each cell of a row that cannot be read', async () => {
    const text = 'name,roles,attributes,last_name\na,"[""x""",{b},c\0\n';
    const { value } = await readFile(fileOf('csv', text)).next();
    expect(value).toMatchObject({
      line: 2,
      faults: [
        { pointer: '/roles', detail: 'must be JSON' },
        { pointer: '/attributes', detail: 'must be JSON' },
        { pointer: '/last_name', detail: 'must not contain NUL' },
      ],
    });
  });
});
