import { badRowsOf } from './bad-rows';
import { cellsAt, columnOf, encodingOf, tableFormOf, toImportFile } from './table-file';

/** Returns a file with the bytes of a text in Windows-1252. */
const ansi = (text: string) => new File([Uint8Array.from(text, (character) => character.charCodeAt(0))], 'people.csv');
const utf8 = (text: string) => new File([text], 'people.csv');
const converted = async (file: File, changes: object = {}) => {
  const form = await tableFormOf(file, await encodingOf(file));
  return (await toImportFile(file, { ...form, ...changes })).text();
};

describe('the columns of a file', () => {
  it.each([
    ['email', 'email'],
    ['E-mail address', 'email'],
    ['E-Mail-Adresse', 'email'],
    [' e-mail adresse ', 'email'],
    ['Benutzername', 'name'],
    ['Carrier', 'carrier_id'],
    ['carrier_scope', 'carrier_scope'],
    ['Sprache', 'locale'],
    ['import_errors', 'import_errors'],
    ['Personalnummer', ''],
    ['toString', ''],
  ])('are found by the names of the service and the labels of the console: %s', (title, column) => {
    expect(columnOf(title)).toBe(column);
  });
});

describe('a CSV file of a spreadsheet', () => {
  it.each([
    ['Grüße', 'utf-8'],
    ['', 'utf-8'],
    ['Gr\xfc\xdfe', 'windows-1252'],
  ])('is UTF-8 unless its bytes are not: %j', async (text, encoding) => {
    const file = encoding === 'utf-8' ? utf8(text) : ansi(text);
    expect(await encodingOf(file)).toBe(encoding);
  });

  it('is sent as it is if the service can read it', async () => {
    const file = utf8('\ufeffuser_type;name;email\r\ncarrier;ada;ada@example.com\r\n');
    expect(await toImportFile(file, await tableFormOf(file, 'utf-8'))).toBe(file);
  });

  it('keeps the chosen columns of the file before, if the titles are the same', async () => {
    const before = { ...(await tableFormOf(utf8('Nutzer;email\n'), 'utf-8')), columns: ['name', 'email'] };
    const { encoding, columns } = await tableFormOf(ansi('Nutzer;email\n'), 'windows-1252', before);
    expect([encoding, columns]).toEqual(['windows-1252', ['name', 'email']]);
    expect((await tableFormOf(utf8('Nutzer;phone\n'), 'utf-8', before)).columns).toEqual(['', 'phone']);
  });

  it('becomes UTF-8 with the columns of the service and the values of all rows', async () => {
    const file = ansi(
      [
        'sep=;',
        'Benutzername;Personalnummer;E-Mail-Adresse;Nachname',
        'ada;7;ada@example.com;M\xfcller',
        ';;;',
        'eve;8;eve@example.com;"Gro\xdf; ""A""\r\nB"',
        'bob;9',
      ].join('\r\n'),
    );
    expect(await converted(file, { fixed: { user_type: 'carrier', carrier_id: 'a,b' } })).toBe(
      [
        'sep=;',
        'user_type;carrier_id;name;email;last_name',
        'carrier;"a,b";ada;ada@example.com;Müller',
        ';;;',
        'carrier;"a,b";eve;eve@example.com;"Groß; ""A""\r\nB"',
        'carrier;"a,b";bob;;\r\n',
      ].join('\r\n'),
    );
  });

  it('keeps cells beyond the header, and the first of two columns with the same meaning', async () => {
    const file = utf8('Name;User name;name;E-mail address;Status\na;b;c;d;e;f\n');
    const form = await tableFormOf(file, 'utf-8');
    expect(form.columns).toEqual(['name', '', '', 'email', 'status']);
    expect(await (await toImportFile(file, form)).text()).toBe('user_type;name;email;status\r\ncarrier;a;d;e;f\r\n');
  });

  it('keeps the order of a file that is longer than one piece', async () => {
    const rows = Array.from({ length: 50_000 }, (_, i) => `name-${i},${i}@example.com`);
    const text = await converted(utf8(['User name,E-mail address', ...rows].join('\n')));
    expect(text.split('\r\n').slice(1, -1)).toEqual(rows.map((row) => `carrier,${row}`));
  });
});

describe('the rows with errors', () => {
  const errors = [{ pointer: '/email', code: 'field.malformed', detail: 'must be an e-mail address' }];

  it('have their values by line and column', async () => {
    const file = utf8('sep=;\nname;email\nada;"a ""b"""\n\n"two\nlines";c\n');
    const cells = await cellsAt(file, true, [3, 5, 9]);
    expect([...cells]).toEqual([
      [3, { name: 'ada', email: 'a "b"' }],
      [5, { name: 'two\nlines', email: 'c' }],
    ]);
    const json = new File(['{"name":"ada","roles":["a"]}\nnot JSON\n'], 'people.ndjson');
    expect([...(await cellsAt(json, false, [1, 2]))]).toEqual([
      [1, { name: 'ada', roles: '["a"]' }],
      [2, {}],
    ]);
  });

  it('become a file that a spreadsheet reads as UTF-8, with the errors in the language of the reader', async () => {
    const file = utf8('name;email\nada;ada@example.com\nMüller;x\n');
    const corrected = await badRowsOf(file, [{ line: 3, errors }], () => 'muss eine E-Mail-Adresse sein');
    expect(new TextDecoder('utf-8', { ignoreBOM: true }).decode(await corrected.arrayBuffer())).toBe(
      '\ufeffimport_line;import_errors;name;email\r\n3;"email muss eine E-Mail-Adresse sein";Müller;x\r\n',
    );
  });
});
