import { type Operator, readValue, type ValueType } from './filter-value';

describe('a time of a filter', () => {
  it.each([
    ...['9999-12-31', '2026-02-30T00:00:00Z', '2023-02-29T00:00:00Z', '2026-13-01T00:00:00Z', '2026-00-01T00:00:00Z'],
    ...['2026-01-00T00:00:00Z', '2026-04-31T12:00:00Z', '+275760-09-13T00:00:00Z', '-000001-01-01T00:00:00Z'],
    ...['10000-01-01T00:00:00Z', '9999-12-31T23:59:59-23:59', 'infinity', '-infinity', 'now', 'today', 'epoch', '0'],
    ...['1763640000', '2026-01-01T24:00:00Z', '2026-01-01T23:60:00Z', '2026-01-01T23:59:60Z', '2026-01-01T00:00:00'],
    ...['2026-01-01 00:00:00Z', '2026-01-01T00:00:00+25:00', '2026-01-01T00:00:00+0100', '2026-01-01T00:00:00 UTC'],
    ...['2026-01-01T00:00:00[Europe/Vienna]', '2026-W01-1T00:00:00Z', '20260101T000000Z', '2026-1-1T0:0:0Z'],
    ...['Fri, 20 Nov 2026 13:00:00 GMT', '２０２６-01-01T00:00:00Z'],
  ])('is not %s (I13)', (text) => {
    expect(readValue(text, { type: 'time' })).toMatchObject({ code: 'parameter.malformed' });
  });

  it.each([
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['2026-01-01T00:00:00.123456789+14:00', '2025-12-31T10:00:00.123Z'],
    ['2026-01-01T23:59:59-12:00', '2026-01-02T11:59:59.000Z'],
  ])('can be %s', (text, time) => {
    expect(readValue(text, { type: 'time' })).toEqual({ value: new Date(time) });
  });
});

describe('a value of a filter', () => {
  const id = '018F0000-0000-7000-8000-00000000000A';
  const list = (length: number) => Array.from({ length }, (_, index) => `v${index}`);
  const bool = { allowed: ['true', 'false'] };
  const long = { max: 256, unit: 'characters' };

  it.each<[string, ValueType, Operator, unknown]>([
    ['true', 'uuid', 'isnull', true],
    ['false', 'boolean', 'eq', false],
    [id, 'uuid', 'eq', id.toLowerCase()],
    ['10.0.0.0/8', 'address', 'eq', '10.0.0.0/8'],
    ['😀😀😀', 'text', 'like', '😀😀😀'],
    ['ab', 'text', 'ne', 'ab'],
    ['a,b', 'text', 'eq', 'a,b'],
    ['😀'.repeat(256), 'text', 'eq', '😀'.repeat(256)],
    ['a,b,a', 'text', 'in', ['a', 'b']],
    [list(500).join(), 'text', 'in', list(500)],
  ])('reads %s (%s, %s)', (text, type, operator, value) => {
    expect(readValue(text, { type }, operator)).toEqual({ value });
  });

  it.each<[string, ValueType, Operator, object | undefined]>([
    ['1', 'uuid', 'isnull', bool],
    ['TRUE', 'boolean', 'eq', bool],
    ['x', 'uuid', 'eq', undefined],
    ['300.1.1.1', 'address', 'eq', undefined],
    ['ab', 'text', 'like', { min: 3, unit: 'characters' }],
    ['😀'.repeat(257), 'text', 'eq', long],
    ['a'.repeat(257), 'text', 'eq', long],
    ['a\0', 'text', 'eq', undefined],
    ['\ud800', 'text', 'eq', undefined],
    ['a,,b', 'text', 'in', undefined],
    ['a,b\0', 'text', 'in', undefined],
    [list(501).join(), 'text', 'in', { max: 500, unit: 'values' }],
  ])('rejects %j (%s, %s)', (text, type, operator, params) => {
    const detail: unknown = expect.any(String);
    const fault = { code: 'parameter.malformed', detail, ...(params && { params }) };
    expect(readValue(text, { type }, operator)).toEqual(fault);
  });

  it('is one of the values of its field', () => {
    const rules = { type: 'text', values: ['on', 'off'] } as const;
    expect(readValue('off', rules)).toEqual({ value: 'off' });
    expect(readValue('of', rules)).toMatchObject({ params: { allowed: ['on', 'off'] } });
  });
});
