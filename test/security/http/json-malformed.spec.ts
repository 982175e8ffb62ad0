import { TestService } from '../../support/service';
import { unexpectedResponses } from '../../support/unexpected-responses';

/**
 * Malformed JSON after the ideas of JSONTestSuite, mostly tested as a body, a value and a list
 * item.
 */
const noValues = [
  ...[
    '',
    ' ',
    '\t',
    '\u00a0',
    '\u2060',
    '\f',
    '\\',
    '\\n',
    '&',
    '<null>',
    'undefined',
    'NaN',
    '-NaN',
    'Infinity',
    '-Infinity',
    '+1',
    '++1',
    '-',
    '--1',
    '- 1',
  ],
  ...[
    '01',
    '-01',
    '00',
    '.5',
    '-.5',
    '1.',
    '-1.',
    '1.e1',
    '.e1',
    '1e',
    '1e+',
    '1E-',
    '1e1.5',
    '1.2.3',
    '1_000',
    '1 000',
    '0x1F',
    '0b1',
    '0o7',
    '1f',
    '1n',
    '１',
  ],
  ...[
    'True',
    'TRUE',
    'tru',
    'truee',
    'fals',
    'nul',
    'Null',
    'nil',
    'None',
    "'x'",
    '`x`',
    '"',
    '"x',
    'x"',
    '"x"y',
    '"\\"',
    '"\\x41"',
    '"\\a"',
    '"\\u12"',
    '"\\u12G4"',
    '"\\U0041"',
    '"\\\u00e9"',
  ],
  ...[
    '"\t"',
    '"\n"',
    '"\u0000"',
    '"\u001f"',
    '"a" "b"',
    '/*x*/1',
    '1//x',
    '#1',
    '1 2',
    'new Date()',
    '[',
    ']',
    '{',
    '}',
    '[]]',
    '{}}',
    '[}',
    '{]',
    '[1',
    '["x"',
    '[1,',
    '[,',
    '[,1]',
    '[1,]',
    '[1,,2]',
  ],
  ...[
    '[1 2]',
    '["a":1]',
    '[:]',
    '[*]',
    '[a]',
    '[1;2]',
    '(1)',
    '{"a"}',
    '{"a":}',
    '{"a" 1}',
    '{:1}',
    '{,}',
    '{"a":1,}',
    '{"a":1,,"b":2}',
    '{a:1}',
    "{'a':1}",
    '{1:1}',
    '{null:1}',
    '{"a"::1}',
    '{"a":1 "b":2}',
  ],
  ...[
    '{"a":1;"b":2}',
    '{"a","b"}',
    '{"a":1',
    '{"a":"b',
    '{"a":[1}',
    '{"a":1]',
    '{"a":/*x*/1}',
    '{[1]:1}',
    '{"a"="b"}',
    '{"a":\u00a01}',
    '{..."a"}',
    '{"a":1}#',
    '{"a":1}{"b":2}',
    '{"a":1}\u0000',
    ")]}',\n{}",
    'a({})',
    '\ufeff{}',
  ],
];

/** Valid JSON in unusual forms, with the value that must be stored. */
const rightValues: [text: string, value: unknown][] = [
  ['""', ''],
  [' "x" ', 'x'],
  ['\r\n\t"x"', 'x'],
  ['"\\u0041\\u00e4"', 'Aä'],
  ['"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\/\b\f\n\r\t'],
  ['"\\uD834\\uDD1E"', '\u{1D11E}'],
  ['"\u2028\u2029\u007f"', '\u2028\u2029\u007f'],
  ['"\\u2028"', '\u2028'],
  ['"\ufffe\uffff\u{10ffff}"', '\ufffe\uffff\u{10ffff}'],
  ['"null"', 'null'],
  ['0', 0],
  ['-1', -1],
  ['123e2', 12_300],
  ['1E+2', 100],
  ['1e-2', 0.01],
  ['20e1', 200],
  ['-0.5', -0.5],
  ['true', true],
  ['[]', []],
  ['[ ]', []],
  ['[[],{},null,""]', [[], {}, null, '']],
  ['[1,null,null,2]', [1, null, null, 2]],
  ['{"":0}', { '': 0 }],
  ['{"a b/~c":"{\\"}"}', { 'a b/~c': '{"}' }],
  ['{"\\u0061":{"a":[]}}', { a: { a: [] } }],
];

describe('malformed JSON', () => {
  let service: TestService;
  let user_id: string;
  const patch = (body: string) =>
    service.patch(`/user/${user_id}`, {
      token: service.admin.token,
      body,
      headers: { 'content-type': 'application/json' },
    });

  beforeAll(async () => {
    service = await TestService.start();
    ({ user_id } = await service.createUser());
  });
  afterAll(() => service.close());

  it.each([
    ['as the whole body', (text: string) => text],
    ['as the value of a field', (text: string) => `{"attributes":{"k":${text}}}`],
    ['as an item of a list', (text: string) => `{"attributes":{"k":["x",${text}]}}`],
    ['after a right body', (text: string) => `{"first_name":"x"}${text}`],
  ])('rejects every malformed value %s with 400, without effect (I7)', async (_where, place) => {
    const before = (await service.get(`/user/${user_id}`, { token: service.admin.token })).body;
    const bodies = [...new Set(noValues)].map(place).filter((body) => !isJson(body));
    expect(bodies.length).toBeGreaterThan(80);
    const refused = ({ status, text }: { status: number; text: string }) =>
      status === 400 && /malformed_json|request\.invalid/.test(text);
    expect(
      await unexpectedResponses(
        bodies.filter((body) => body !== ''),
        JSON.stringify,
        patch,
        refused,
      ),
    ).toEqual([]);
    expect((await service.get(`/user/${user_id}`, { token: service.admin.token })).body).toEqual(before);
  });

  it('accepts valid JSON in unusual forms unchanged (I7)', async () => {
    for (const [text, value] of rightValues) {
      const answer = await patch(`{"attributes":{"k":${text}}}`);
      expect([text, answer.status]).toEqual([text, 200]);
      const kept = (await service.get(`/user/${user_id}`, { token: service.admin.token })).body.attributes.k;
      expect([text, kept]).toEqual([text, value]);
      await patch('{"attributes":{"k":null}}');
    }
  });

  it('rejects a body that ends too early or continues after its end (I7)', async () => {
    const whole = '{"first_name":"Ada","attributes":{"k":[1,"x"]}}';
    const cut = Array.from({ length: whole.length - 1 }, (_, index) => whole.slice(0, index + 1));
    expect(await unexpectedResponses(cut, String, patch, ({ status }) => status === 400)).toEqual([]);
    const more = ['{}', ',', '\u0001', '//', '\ufeff'].map((end) => whole + end);
    expect(await unexpectedResponses(more, String, patch, ({ status }) => status === 400)).toEqual([]);
    expect(await patch(`\n ${whole} \r\n`)).toMatchObject({ status: 200 });
  });
});

/** Returns whether a text happens to be valid in its place. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
