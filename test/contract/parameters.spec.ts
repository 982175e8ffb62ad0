import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import type { AppError, FieldError } from '../../src/common/errors/app-error';
import { CursorCodec } from '../../src/common/query/cursor';
import { type FilterSpec, parseFilter } from '../../src/common/query/filter';
import { type ListSpec, parseListQuery } from '../../src/common/query/list-query';
import { auditList } from '../../src/events/audit-list';
import { apiKeyList } from '../../src/api-keys/api-key-list';
import { operationList } from '../../src/operations/operation-list';
import { sessionList } from '../../src/sessions/session-list';
import { mailList } from '../../src/user-mails/mail-list';
import { parseBulkQuery } from '../../src/users-bulk/bulk-query';
import { deletedUserList, userList } from '../../src/users/user-list';
import { document } from '../support/document';

interface Schema {
  type: 'string' | 'boolean' | 'integer' | 'array';
  enum?: string[];
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  items?: Schema;
}
interface Parameter {
  name: string;
  in: string;
  schema: Schema;
  style?: string;
  explode?: boolean;
}

const ajv = new Ajv2020({ strict: false });
addFormats(ajv);
const lists: [string, ListSpec][] = [
  ['/user/list', deletedUserList],
  ['/auth/session/list', sessionList],
  ['/auth/key/list', apiKeyList],
  ['/audit/list', auditList],
  ['/mail/list', mailList],
  ['/user/operation/list', operationList],
];
const filtered: [string, string, FilterSpec][] = [
  ...lists.map(([path, { filter }]): [string, string, FilterSpec] => ['get', path, filter]),
  ['patch', '/user/all', userList.filter],
  ['delete', '/user/all', userList.filter],
  ['get', '/user/export', userList.filter],
  ['post', '/user/export/link', userList.filter],
  ['delete', '/auth/session/all', sessionList.filter],
];
const notFilters = ['order_by', 'order_dir', 'per_page', 'page', 'cursor', 'count', 'deleted'];
const ofRequest = ['everyone', 'dry_run', 'confirm_token', 'expected', 'format', 'hashes'];

function parametersOf(method: string, path: string): Parameter[] {
  return (document.paths[path]?.[method]?.parameters ?? []).filter(
    (parameter) => parameter.in === 'query',
  ) as Parameter[];
}

/** Returns the JSON value of a text in a URL. Repeated items count once. */
function instanceOf(text: string, { type, items }: Schema): unknown {
  if (type === 'array' && items !== undefined)
    return [...new Set(text.split(','))].map((item) => instanceOf(item, items));
  if (type === 'boolean') return text === 'true' || (text === 'false' ? false : text);
  return type === 'integer' && /^(0|-?[1-9]\d{0,14})$/.test(text) ? Number(text) : text;
}

// One day off either end of the calendar: no schema can express that an offset leaves the accepted
// years.
const limits = { min: new Date('0000-01-02T00:00:00Z'), max: new Date('9999-12-30T00:00:00Z'), noInvalidDate: true };
const realTimes = fc.date(limits).map((time) => time.toISOString());
const times = fc.oneof(
  realTimes,
  fc
    .tuple(
      fc.constantFrom('2024-02-', '2023-02-', '2026-04-', '2026-13-', '0000-02-'),
      fc.constantFrom('28', '29', '30', '31', '00', '1'),
    )
    .map((part) => part.join('')),
);
const zones = fc.constantFrom(
  '',
  'Z',
  'z',
  '+00:00',
  '-23:59',
  '+14:00',
  '+24:00',
  '+1:00',
  '+0100',
  '-00:60',
  ' UTC',
  '[Europe/Vienna]',
);
const clocks = fc.constantFrom(
  '',
  'T00:00:00',
  't00:00:00',
  ' 00:00:00',
  'T23:59:59.123456789',
  'T23:59:59.1234567890',
  'T24:00:00',
  'T23:59:60',
  'T0:00:00',
  'T00:00:00.',
);
const letters = fc.string({
  unit: fc.constantFrom('a', 'ß', '\u{1F600}', ',', ' ', '\u3000', '\t', '\0', 'é'),
  maxLength: 9,
});
/** Values near the limit of what is accepted, for every type of parameter. */
const anyText = fc.oneof(
  fc
    .tuple(times, clocks, zones)
    .map(([day, clock, zone]) => (clock === '' ? day.replace(/Z$/, zone) : day.slice(0, 10) + clock + zone)),
  fc.uuid(),
  fc.uuid().map((id) => `urn:uuid:${id}`),
  fc.uuid().map((id) => id.toUpperCase().replace(/-/g, '')),
  fc
    .tuple(fc.oneof(fc.ipV4(), fc.ipV6()), fc.constantFrom('', '/8', '/33', '/129', '/', '%eth0'))
    .map((part) => part.join('')),
  fc.constantFrom(
    'true',
    'false',
    'TRUE',
    '1',
    '0',
    '-1',
    '01',
    '1.0',
    '1e3',
    '500',
    '501',
    '10000',
    '10001',
    'asc',
    'exact',
    '',
  ),
  letters,
  fc
    .tuple(letters, fc.constantFrom(128, 256, 257, 1_024, 1_025))
    .map(([text, length]) => [...text, ...'x\u{1F600}'.repeat(length)].slice(0, length).join('')),
  fc
    .array(fc.oneof(fc.uuid(), letters, fc.constantFrom('system', 'true', 'a')), { maxLength: 4 })
    .map((items) => items.join(',')),
  fc
    .tuple(fc.constantFrom(499, 500, 501), fc.constantFrom(1, 1_000))
    .map(([length, different]) => Array.from({ length }, (_, index) => `a${index % different}`).join(',')),
);

/** Returns texts that a schema accepts, most of them generated from its pattern. */
function accepted(schema: Schema): fc.Arbitrary<string> {
  const { type, items, pattern, format, minLength = 0, maxLength = 300 } = schema;
  if (type === 'array' && items !== undefined)
    return fc.array(accepted(items), { minLength: 1, maxLength: 5 }).map((list) => list.join(','));
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (type !== 'string')
    return type === 'boolean' ? fc.constantFrom('true', 'false') : fc.integer({ min: 1, max: 500 }).map(String);
  if (format === 'uuid') return fc.uuid();
  if (pattern === undefined) return fc.string({ minLength, maxLength });
  if (format === 'date-time') return realTimes;
  if (maxLength === 49) return fc.oneof(fc.ipV4(), fc.ipV6());
  const validate = ajv.compile(schema);
  return fc
    .stringMatching(new RegExp(pattern, 'u'), { size: 'small' })
    .filter((text) => validate(text) && text.isWellFormed());
}

function errorsOf(read: () => unknown): FieldError[] {
  try {
    read();
    return [];
  } catch (error) {
    return (error as AppError).extras.errors ?? [];
  }
}

describe('query parameters and their schemas', () => {
  const cursors = new CursorCodec(Buffer.alloc(32));
  const strings = (parameters: Parameter[]) =>
    parameters.map(({ name, schema }) => ({ name, schema: schema.items ?? schema }));

  it.each(filtered)('gives every text a minimum length, a maximum length and a form: %s %s', (method, path) => {
    const filters = parametersOf(method, path).filter(({ name }) => !notFilters.includes(name));
    expect(filters.length).toBeGreaterThan(15);
    const loose = strings(filters).filter(
      ({ schema }) =>
        schema.type === 'string' && schema.enum === undefined && !(schema.minLength! > 0 && schema.maxLength! <= 512),
    );
    expect(loose).toEqual([]);
    const formless = strings(filters).filter(
      ({ name, schema }) =>
        schema.type === 'string' && name !== 'confirm_token' && !(schema.pattern ?? schema.format ?? schema.enum),
    );
    expect(formless).toEqual([]);
  });

  it.each(filtered)('documents a list as one comma-separated parameter: %s %s', (method, path) => {
    const parameters = parametersOf(method, path).filter(({ name }) => name.endsWith('_in'));
    expect(parameters.length).toBeGreaterThan(3);
    const form = {
      style: 'form',
      explode: false,
      schema: expect.objectContaining({ type: 'array', minItems: 1, maxItems: 500 }),
    };
    for (const parameter of parameters) expect(parameter).toMatchObject(form);
  });

  it.each(filtered)('accepts a filter exactly when its schema does: %s %s', (method, path, spec) => {
    const filters = parametersOf(method, path).filter(({ name }) => ![...notFilters, ...ofRequest].includes(name));
    // One parameter of each form is enough: parameters of one type share their schema.
    const forms = new Map(filters.map((parameter) => [JSON.stringify(parameter.schema), parameter]));
    for (const { name, schema } of forms.values()) {
      const validate = ajv.compile(schema);
      const seen = { true: 0, false: 0 };
      fc.assert(
        fc.property(fc.oneof(anyText, accepted(schema), fc.constant('')), (text) => {
          const errors: FieldError[] = [];
          parseFilter({ [name]: text }, spec, errors);
          const valid = validate(instanceOf(text, schema));
          expect([name, text, errors.length === 0]).toEqual([name, text, valid]);
          seen[`${valid}`]++;
        }),
        { numRuns: 120 },
      );
      expect([name, seen.true > 5, seen.false > 5]).toEqual([name, true, true]);
    }
  });

  it.each(lists)('accepts sort, page and count exactly when their schemas do: %s', (path, spec) => {
    for (const { name, schema } of parametersOf('get', path).filter((parameter) =>
      notFilters.includes(parameter.name),
    )) {
      // A cursor must be signed by the service, and the service decides about `deleted`.
      if (name === 'cursor' || name === 'deleted') continue;
      const validate = ajv.compile(schema);
      fc.assert(
        fc.property(fc.oneof(anyText, accepted(schema)), (text) => {
          // One row per page, so that the limit of `page` × `per_page` does not interfere.
          const query = { ...(name === 'page' ? { per_page: '1' } : {}), [name]: text };
          let code = '';
          const errors = errorsOf(() => {
            try {
              parseListQuery(query, spec, 'caller', cursors);
            } catch (error) {
              ({ code } = error as AppError);
              throw error;
            }
          });
          expect([name, text, errors.length === 0 && code === '']).toEqual([
            name,
            text,
            validate(instanceOf(text, schema)),
          ]);
        }),
        { numRuns: 200 },
      );
    }
  });

  it('accepts the parameters of a bulk request exactly when their schemas do', () => {
    const parameters = parametersOf('patch', '/user/all').filter(({ name }) => ofRequest.includes(name));
    expect(parameters).toHaveLength(4);
    for (const { name, schema } of parameters) {
      const validate = ajv.compile(schema);
      fc.assert(
        fc.property(fc.oneof(anyText, accepted(schema), fc.constantFrom('999999999', '1000000000')), (text) => {
          const filter = name === 'everyone' ? {} : { name: 'ada' };
          const errors = errorsOf(() => parseBulkQuery({ ...filter, [name]: text }));
          expect([name, text, errors.length === 0]).toEqual([name, text, validate(instanceOf(text, schema))]);
        }),
        { numRuns: 200 },
      );
    }
  });
});
