import { changedFields, disputedFields, isSame, pick, unsentEdits } from './draft';

describe('a draft', () => {
  const before = { name: 'ada', roles: ['a', 'b'], scope: null as string[] | null, is_active: true };

  it('contains only fields that differ from the record, regardless of the order of lists', () => {
    expect(changedFields(before, { ...before, roles: ['b', 'a'], name: ' ada ' })).toEqual([]);
    expect(changedFields(before, { ...before, roles: ['a'], scope: [] })).toEqual(['roles', 'scope']);
    expect(isSame(before.roles, before.roles.toReversed())).toBe(true);
    expect(isSame('{"a": {"b": 1, "c": 2}, "d": [1, 2]}', '{"d":[1,2],"a":{"c":2,"b":1}}')).toBe(true);
    expect(isSame('{"d": [1, 2]}', '{"d": [2, 1]}')).toBe(false);
    expect(before.roles).toEqual(['a', 'b']);
  });

  it('reports a conflict only for fields that both versions changed to different values', () => {
    const mine = { ...before, name: 'grace', roles: ['c', 'a'], is_active: false };
    expect(disputedFields(before, mine, { ...before, scope: ['c1'], is_active: false })).toEqual([]);
    expect(disputedFields(before, mine, { ...before, name: 'augusta', roles: ['a', 'c'] })).toEqual(['name']);
    expect(disputedFields(before, before, { ...before, name: 'augusta' })).toEqual([]);
  });

  it('keeps what was typed while the form was sent', () => {
    const sent = { name: 'grace', roles: ['a'] };
    expect(unsentEdits({ ...sent, name: 'grace h' }, sent)).toEqual({ name: 'grace h' });
    expect(unsentEdits(sent, sent)).toEqual({});
    expect(pick(before, ['name'])).toEqual({ name: 'ada' });
  });
});
