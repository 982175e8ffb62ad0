import type { User } from '../data';
import { changesOf, isJsonObject, valuesOf } from './user-values';

describe('the form of a user', () => {
  const user = { name: 'ada', phone: null, roles: ['a'], attributes: { tier: 'gold', limits: { day: 1, week: 5 } } };
  const before = valuesOf(user as unknown as User);

  it('sends attributes as a merge patch, and an empty text as null', () => {
    const attributes = '{ "limits": { "day": 2, "week": 5 }, "toString": "x" }';
    expect(changesOf(before, { ...before, phone: '  ', attributes }, ['phone', 'attributes'])).toEqual({
      phone: null,
      attributes: { tier: null, limits: { day: 2 }, toString: 'x' },
    });
  });

  it('accepts only JSON objects as attributes', () => {
    expect(['', '{}', ' {"a": [1]} ', '[]', 'null', '{"a"', '1'].map(isJsonObject)).toEqual([
      ...[true, true, true],
      ...[false, false, false, false],
    ]);
  });
});
