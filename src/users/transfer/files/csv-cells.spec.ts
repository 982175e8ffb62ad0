import { cellText, readCell } from './csv-cells';

describe('cells of a CSV file', () => {
  it.each([
    ['carrier_user', ['carrier_user']],
    ['carrier_user; carrier_administrator;', ['carrier_user', 'carrier_administrator']],
    ['["carrier_user"]', ['carrier_user']],
    ["'-1;2", ['-1', '2']],
    ['null', ['null']],
    ['[]', []],
    ['["carrier_user"', undefined],
  ])('reads the list %s', (cell, items) => {
    expect(readCell(cell, 'list')).toEqual(items);
  });

  it.each<[string, Parameters<typeof readCell>[1], unknown]>([
    ...['true', 'TRUE'].map((cell) => [cell, 'boolean', true] as never),
    ...['false', 'False'].map((cell) => [cell, 'boolean', false] as never),
    ...['yes', "'true", 'xtrue', 'truex', 'xfalse', 'falsex'].map((cell) => [cell, 'boolean', cell] as never),
    ['{"a":1}', 'json', { a: 1 }],
    ['{"a"', 'json', undefined],
    ['["a"', 'text', '["a"'],
    [' ["a"]', 'list', ['a']],
    ['a;b', 'text', 'a;b'],
    ["'=a", 'code', '=a'],
    ["''=a", 'text', "'=a"],
    ["x'=a", 'text', "x'=a"],
    ["a;'=b\t'+c", 'text', 'a;=b\t+c'],
    ['a;\'"=b', 'text', 'a;"=b'],
    ["a;''=b", 'text', "a;'=b"],
    ["a'=b;'b;'b=", 'text', "a'=b;'b;'b="],
  ])('reads %j as %s', (cell, form, value) => {
    expect(readCell(cell, form)).toEqual(value);
  });

  it.each([
    [[], '[]'],
    [['a'], 'a'],
    [['a', 'b'], 'a;b'],
    [['null', 'b'], 'null;b'],
    [['007'], '["007"]'],
    [['1-2', '3'], '1-2;3'],
    [['2026-01-02'], '["2026-01-02"]'],
    [['a;b', 'c'], '["a;b","c"]'],
    [['[a'], '["[a"]'],
    [[' a'], '[" a"]'],
    [['a', 1], '["a",1]'],
  ])('writes the list %j so that it is read unchanged', (items, cell) => {
    expect([cellText(items), readCell(cellText(items), 'list')]).toEqual([cell, items]);
  });

  it.each([
    ['a\0b', 'ab'],
    [true, 'true'],
    [{ tier: 'gold' }, '{"tier":"gold"}'],
  ])('writes %j as text', (value, cell) => {
    expect(cellText(value)).toBe(cell);
  });
});
