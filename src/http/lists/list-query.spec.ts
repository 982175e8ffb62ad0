import type { AppError, FieldError } from '../errors/app-error';
import { readBoolean } from './boolean-parameter';
import { CursorCodec } from './cursor';
import type { RawQuery } from './filter';
import { type ListSpec, parseListQuery } from './list-query';

const spec: ListSpec = {
  name: 'things',
  filter: {
    fields: {
      name: { type: 'text', meaning: 'name' },
      state: { type: 'text', values: ['on', 'off'], meaning: 'state' },
      role: { type: 'text', operators: ['eq', 'in'], meaning: 'role' },
      seen: { type: 'boolean', meaning: 'seen' },
      at: { type: 'time', nullable: true, meaning: 'time' },
      ip: { type: 'address', nullable: true, meaning: 'address' },
      id: { type: 'uuid', meaning: 'id' },
    },
    attributes: true,
  },
  sorts: { name: { type: 'text' }, at: { type: 'time', nullable: true } },
  defaultSort: 'name',
};
const cursors = new CursorCodec(Buffer.alloc(32));
const position = { value: 'ada', id: '018f0000-0000-7000-8000-000000000001' };

/** Returns the parameters and the code of the error, or null. */
function faultOf(query: Record<string, string>, owner = 'caller', list = spec): string | null {
  try {
    parseListQuery(query, list, owner, cursors);
    return null;
  } catch (error) {
    const { code, extras } = error as AppError;
    const fields = (extras.errors ?? []).map(({ parameter, code: fault }) => `${parameter} ${fault}`);
    return [code, ...fields].join(', ');
  }
}

describe('the query of a list', () => {
  it.each(['per_page', 'page'])('accepts only plain positive numbers as %s (B12)', (parameter) => {
    const wrong = '-1,0,1e2,NaN,10abc,[1],1.5, 1,1 ,+1,01,0x10,,null,１,∞,9223372036854775808'.split(',');
    for (const value of wrong)
      expect([value, faultOf({ [parameter]: value })]).toEqual([value, expect.stringContaining(parameter)]);
    expect(faultOf({ [parameter]: '1' })).toBeNull();
  });

  it('limits the size and the depth of a page (B12)', () => {
    expect(faultOf({ per_page: '501' })).toBe('request.invalid, per_page parameter.malformed');
    for (const [page, per_page] of [
      ['100001', '1'],
      ['2001', '50'],
      ['201', '500'],
      ['9007199254740991', '1'],
    ] as const)
      expect(faultOf({ page, per_page })).toBe('page.too_deep');
    expect(faultOf({ page: '200', per_page: '500' })).toBeNull();
  });

  it('accepts only the sorts of the list and the two directions (B8)', () => {
    const sorts = ['name desc', 'name,at', 'name--', '1', 't.name', 'NAME', 'lower(name)', 'role', ' name', ''];
    for (const value of [...sorts, 'constructor', '__proto__', 'toString', '(case when 1=1 then name else at end)'])
      expect([value, faultOf({ order_by: value })]).toEqual([value, 'request.invalid, order_by parameter.malformed']);
    for (const value of ['asc nulls first', 'asc;', 'ASC', 'desc,name', 'descending', '', ' asc', 'constructor'])
      expect([value, faultOf({ order_dir: value })]).toEqual([value, 'request.invalid, order_dir parameter.malformed']);
  });

  it.each([
    ...[
      'name[$like]',
      'name[]',
      'name[$ne]',
      'name.$ne',
      'name__like',
      'name_ilike',
      'name_not',
      'name_regex',
      'name!',
    ],
    ...['name_gt', 'name_isnull', 'state_like', 'role_like', 'role_ne', 'seen_gt', 'id_like', 'id_gt', 'at_like'],
    ...['ip_like', 'at_between', 'OR', 'and', 'attributes.a.b', 'attributes[a]', 'attributes', 'order_by[]', 'sort'],
    ...['limit', 'offset', 'select', 'group_by', 'filter', 'constructor', '__proto__', 'lower(name)', 'name::text'],
  ])('rejects the parameter %s (B10)', (parameter) => {
    expect(faultOf({ [parameter]: 'abc' })).toBe(`request.invalid, ${parameter} parameter.unknown`);
  });

  it('reads the suffix of an attribute as part of its key (B10)', () => {
    expect(faultOf({ 'attributes.a_ne': '1' })).toBeNull();
  });

  it('rejects thousands of parameters and deeply nested values in one pass (B23)', () => {
    const deep = 1_000_000;
    expect(faultOf({ filter: '('.repeat(deep) })).toBe('request.invalid, filter parameter.unknown');
    expect(faultOf({ [`and${'[and]'.repeat(deep)}`]: '1' })).toContain('parameter.unknown');
    expect(faultOf({ name: 'a '.repeat(deep) })).toBe('request.invalid, name parameter.malformed');
    const many = Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`attributes.k${index}`, '1']));
    expect(faultOf(many)).toContain('request.invalid');
  });
});

describe('the options of a list', () => {
  it.each<[RawQuery, object]>([
    [{}, { conditions: [], sort: 'name', descending: true, per_page: 50, count: 'estimated' }],
    [
      { order_by: 'at', order_dir: 'asc', per_page: '500' },
      { sort: 'at', descending: false, per_page: 500 },
    ],
    [
      { page: '2', count: 'exact' },
      { page: 2, count: 'exact' },
    ],
    [
      { order_dir: 'desc', count: 'none' },
      { descending: true, count: 'none' },
    ],
  ])('are %j', (query, options) => {
    expect(parseListQuery(query, spec, 'caller', cursors)).toMatchObject(options);
  });

  it('have the default direction of the list', () => {
    expect(parseListQuery({}, { ...spec, defaultDirection: 'asc' }, 'caller', cursors).descending).toBe(false);
  });

  it.each<[RawQuery, string, object]>([
    [{ per_page: '501' }, 'parameter.malformed', { min: 1, max: 500 }],
    [{ order_dir: 'up' }, 'parameter.malformed', { allowed: ['asc', 'desc'] }],
    [{ count: 'all' }, 'parameter.malformed', { allowed: ['estimated', 'exact', 'none'] }],
    [{ cursor: '' }, 'parameter.malformed', { min: 1, max: 1_024, unit: 'characters' }],
    [{ cursor: ['a', 'b'] }, 'parameter.malformed', { min: 1, max: 1_024, unit: 'characters' }],
    [{ page: '1', cursor: 'a' }, 'parameter.conflict', { parameter: 'cursor' }],
  ])('cannot be %j', (query, code, params) => {
    const [parameter] = Object.keys(query);
    const error: object = expect.objectContaining({ parameter, code, params });
    const rejection = expect.objectContaining({ code: 'request.invalid', extras: { errors: [error] } });
    expect(() => parseListQuery(query, spec, 'caller', cursors)).toThrow(rejection as Error);
  });

  it.each<[string | string[] | undefined, boolean, boolean]>([
    [undefined, false, true],
    ['true', true, true],
    ['false', false, true],
    ['', false, false],
    ['TRUE', false, false],
    [['true', 'true'], false, false],
  ])('read the boolean %j as %j', (value, read, accepted) => {
    const errors: FieldError[] = [];
    expect(readBoolean({ on: value }, 'on', errors)).toBe(read);
    const fault = { code: 'parameter.malformed', params: { allowed: ['true', 'false'] } };
    expect(errors).toEqual(accepted ? [] : [expect.objectContaining({ parameter: 'on', ...fault })]);
  });
});

describe('a cursor', () => {
  const query = { order_by: 'name', state: 'on' };
  const mint = () => parseListQuery(query, spec, 'caller', cursors).cursorAfter(position);

  it('continues the same list of the same caller', () => {
    const cursor = mint();
    expect(parseListQuery({ ...query, cursor }, spec, 'caller', cursors).after).toEqual(position);
    // A cursor contains no page size.
    expect(faultOf({ ...query, cursor, per_page: '3' })).toBeNull();
    const filters = { name: 'a', ...query };
    const same = parseListQuery({ ...query, name: 'a' }, spec, 'caller', cursors).cursorAfter(position);
    expect(faultOf({ ...filters, cursor: same })).toBeNull();
  });

  it('is rejected with any changed character (B12)', () => {
    const cursor = mint();
    for (let index = 0; index < cursor.length; index++) {
      const changed = `${cursor.slice(0, index)}${cursor[index] === 'A' ? 'B' : 'A'}${cursor.slice(index + 1)}`;
      expect([index, faultOf({ ...query, cursor: changed })]).toEqual([index, 'page.cursor_invalid']);
    }
    const [payload = '', signature = ''] = cursor.split('.');
    const forged = Buffer.from(JSON.stringify(["x') or 1=1--", position.id])).toString('base64url');
    const parts = [`${payload}.`, `.${signature}`, `${forged}.${signature}`, `${cursor}.`, `${cursor}=`, '.', '..'];
    for (const other of [payload, forged, 'a', ...parts])
      expect([other, faultOf({ ...query, cursor: other })]).toEqual([other, 'page.cursor_invalid']);
    expect(faultOf({ ...query, cursor: 'a'.repeat(1_024) })).toBe('page.cursor_invalid');
    expect(faultOf({ ...query, cursor: 'a'.repeat(1_025) })).toBe('request.invalid, cursor parameter.malformed');
  });

  it('is rejected with another filter, sort, caller or list, and beside a page number (B12)', () => {
    const cursor = mint();
    for (const other of [{ order_by: 'name' }, { ...query, state: 'off' }, { ...query, order_by: 'at' }])
      expect(faultOf({ ...other, cursor })).toBe('page.cursor_invalid');
    expect(faultOf({ ...query, cursor, order_dir: 'asc' })).toBe('page.cursor_invalid');
    expect(faultOf({ ...query, cursor }, 'another caller')).toBe('page.cursor_invalid');
    expect(faultOf({ ...query, cursor }, 'caller', { ...spec, name: 'other things' })).toBe('page.cursor_invalid');
    expect(faultOf({ ...query, cursor, page: '1' })).toBe('request.invalid, page parameter.conflict');
  });
});
