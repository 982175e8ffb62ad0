import type { FieldError } from '../errors/app-error';
import { type FilterSpec, operatorsOf, parameterName, parseConditions, parseFilter } from './filter';
import { escapeLike, filterSql, type FilterSql, type Reach } from './filter.sql';
import type { Operator } from './filter-value';
import { sql } from './sql';

const reach: Reach = (condition) => sql`t.id in (select id from b where ${condition})`;
const spec: FilterSpec = {
  fields: {
    beside: { type: 'text', meaning: 'text' },
    name: { type: 'text', fold: true, meaning: 'name' },
    phone: { type: 'text', nullable: true, meaning: 'phone' },
    state: { type: 'text', values: ['on', 'off'], meaning: 'state' },
    at: { type: 'time', nullable: true, meaning: 'time' },
    id: { type: 'uuid', meaning: 'id' },
    ip: { type: 'address', meaning: 'address' },
    role: { type: 'text', operators: ['in'], meaning: 'role' },
  },
  specials: { q: { pattern: /^[a-z]+$/, fault: { code: 'q.malformed', detail: '' }, meaning: 'q', example: 'a' } },
  attributes: true,
};
const filter: FilterSql = {
  spec,
  table: 't',
  fields: {
    beside: {
      column: 'b.beside',
      reach,
      likeCandidates: (value) => ({ condition: sql`b.texts like ${value}`, reach }),
    },
    name: { likeCandidates: (value) => ({ condition: sql`b.texts like ${value}`, reach }) },
  },
};

function parse(query: Record<string, string | string[]>): { text: string; values: unknown[]; errors: FieldError[] } {
  const errors: FieldError[] = [];
  const conditions = parseFilter(query, spec, errors);
  return { ...filterSql(conditions, filter).toQuery(), errors };
}

describe('the filter grammar', () => {
  it('counts repeated values of `_in` once, and rejects more than 500 different values (D31)', () => {
    const values = (count: number, different: number) =>
      Array.from({ length: count }, (_, index) => `v${index % different}`).join(',');
    expect(parse({ phone_in: values(9_000, 500) })).toMatchObject({
      errors: [],
      values: [values(500, 500).split(',')],
    });
    expect(parse({ phone_in: values(3, 1) })).toMatchObject({ errors: [], values: ['v0'] });
    const fault = { detail: 'must have at most 500 values', params: { max: 500, unit: 'values' } };
    const error = { parameter: 'phone_in', code: 'parameter.malformed', ...fault };
    expect(parse({ phone_in: values(501, 501) }).errors).toEqual([error]);
  });

  it('has the same text for any number of values (D31)', () => {
    const id = (index: number) => `018f0000-0000-7000-8000-${String(index).padStart(12, '0')}`;
    const texts = [2, 100, 500].map((count) => {
      const indexes = Array.from({ length: count }, (_, index) => index);
      return parse({ id_in: indexes.map(id).join(), phone_in: indexes.join() }).text;
    });
    expect(new Set(texts)).toEqual(new Set([expect.stringContaining('= any(')]));
  });

  it('turns fields and suffixes into parameterised conditions', () => {
    expect(parse({ name: 'Ada', phone_isnull: 'true' })).toMatchObject({
      text: '(lower(t.name) = lower($1::text))\nand t.phone is null',
      values: ['Ada'],
    });
  });

  it('includes nulls with _ne', () => {
    expect(parse({ phone_ne: '+431' }).text).toBe('(t.phone < $1::text or t.phone > $2::text or t.phone is null)');
    expect(parse({ ip_ne: '10.0.0.1' }).text).toContain('is not true');
  });

  it('turns _ne into the other values of an enumeration', () => {
    expect(parse({ state_ne: 'on' })).toMatchObject({ text: '((t.state = $1::text))', values: ['off'] });
  });

  it('combines all conditions on another table into one', () => {
    expect(parse({ beside: 'a', state: 'on', beside_like: 'abc' })).toMatchObject({
      text:
        't.id in (select id from b where (b.beside = $1::text)\nand b.texts like $2\n' +
        'and strpos(lower(b.beside), lower($3::text)) <> 0)\nand (t.state = $4::text)',
      values: ['a', 'abc', 'abc', 'on'],
    });
  });

  it('finds candidates of _like by an index on another table and decides by the column', () => {
    expect(parse({ name_like: '%Ab' })).toMatchObject({
      text: 't.id in (select id from b where b.texts like $1)\nand strpos(lower(t.name), lower($2::text)) <> 0',
      values: ['%Ab', '%Ab'],
    });
  });

  it('takes % and _ of _like literally', () => {
    expect(escapeLike('50%_\\')).toBe('50\\%\\_\\\\');
    expect(parse({ phone_like: '%_x' }).values).toEqual(['%\\%\\_x%']);
  });

  it.each([
    ['an unknown field', { nmae: 'x' }, 'nmae'],
    ['a key of the prototype', { constructor: 'x' }, 'constructor'],
    ['an operator the type does not have', { state_gt: 'on' }, 'state_gt'],
    ['an empty value', { name: '' }, 'name'],
    ['a repeated parameter', { name: ['a', 'b'] }, 'name'],
    ['a value outside the list', { state: 'broken' }, 'state'],
    ['a day that does not exist', { at_gt: '2026-02-30T00:00:00Z' }, 'at_gt'],
    ['a time without zone', { at_gt: '2026-02-03T00:00:00' }, 'at_gt'],
    ['a short _like', { name_like: 'ab' }, 'name_like'],
    ['no UUID', { id: '1 or 1=1' }, 'id'],
    ['no address', { ip: '10.0.0.0/33' }, 'ip'],
    ['an empty item of a list', { id_in: '' }, 'id_in'],
    ['NUL', { name: 'a\0b' }, 'name'],
    ['a lone surrogate', { name: '\ud800' }, 'name'],
    ['a nested attribute', { 'attributes.a.b': 'x' }, 'attributes.a.b'],
  ])('rejects %s and names the parameter', (_what, query, parameter) => {
    expect(parse(query as Record<string, string>).errors).toEqual([expect.objectContaining({ parameter })]);
  });

  it('rejects more than 3 attributes, besides other conditions', () => {
    const three = { 'attributes.a': '1', 'attributes.b_-9': '1', 'attributes.c': '1', name: 'x' };
    expect(parse(three).errors).toEqual([]);
    const fault = { code: 'parameter.too_many', detail: 'must have at most 3 items', params: { max: 3 } };
    expect(parse({ ...three, 'attributes.d': '1' }).errors).toEqual([{ parameter: 'attributes', ...fault }]);
  });

  it.each<[string, Operator[]]>([
    ['name', ['eq', 'ne', 'in', 'like']],
    ['phone', ['eq', 'ne', 'in', 'isnull', 'like']],
    ['state', ['eq', 'ne', 'in']],
    ['at', ['eq', 'ne', 'in', 'gt', 'gte', 'lt', 'lte', 'isnull']],
    ['id', ['eq', 'ne', 'in']],
    ['role', ['in']],
  ])('accepts for %s the operators %j and no others', (name, operators) => {
    const field = spec.fields[name];
    expect(field && operatorsOf(field)).toEqual(operators);
    for (const operator of ['eq', 'ne', 'in', 'gt', 'gte', 'lt', 'lte', 'isnull', 'like'] as const) {
      const parameter = parameterName(name, operator);
      const isUnknown = parse({ [parameter]: '\0' }).errors[0]?.code === 'parameter.unknown';
      expect([parameter, isUnknown]).toEqual([parameter, !operators.includes(operator)]);
    }
  });

  it('returns conditions on fields, attributes and special parameters', () => {
    const query = { at_gte: '2026-01-01T00:00:00Z', 'attributes.a': 'x', q: 'ada' };
    expect(parseConditions(query, spec)).toEqual([
      { kind: 'field', field: 'at', operator: 'gte', value: new Date('2026-01-01') },
      { kind: 'attribute', key: 'a', value: 'x' },
      { kind: 'special', name: 'q', value: 'ada' },
    ]);
  });

  it.each([
    ['name', ['a', 'b'], 'parameter.malformed'],
    ['nmae_in', 'a', 'parameter.unknown'],
    ['at', 'x', 'parameter.malformed'],
    ['q', 'x'.repeat(257), 'parameter.malformed'],
    ['q', 'ADA', 'q.malformed'],
    ['attributes.a', '\0', 'parameter.malformed'],
    [`attributes.${'a'.repeat(65)}`, 'x', 'parameter.unknown'],
    ['x.attributes.a', 'x', 'parameter.unknown'],
  ])('rejects %s=%j as %s', (parameter, value, code) => {
    const errors = [expect.objectContaining({ parameter, code })];
    expect(parse({ [parameter]: value }).errors).toEqual(errors);
    expect(() => parseConditions({ [parameter]: value }, spec)).toThrow(
      expect.objectContaining({ code: 'request.invalid', extras: { errors } }) as Error,
    );
  });

  it('rejects attributes if the list has none', () => {
    expect(() => parseConditions({ 'attributes.a': 'x' }, { fields: {} })).toThrow('request.invalid');
  });
});
