import { conditionsOf, type FilterFields, parameterOf } from './conditions';

const fields: FilterFields = {
  status: { kind: 'choice', operators: ['', '_in'], choices: ['active', 'disabled'] },
  created_at: { kind: 'time', operators: ['_gt', '_lt'] },
  attributes: { kind: 'attribute', operators: [''] },
};

describe('conditionsOf', () => {
  it('returns the conditions in the order of the fields, with each operator of a field', () => {
    const values = { created_at_lt: '2026-02-01', created_at_gt: '2026-01-01', status_in: 'active,disabled' };
    expect(conditionsOf(values, fields)).toEqual([
      { field: 'status', operator: '_in', value: 'active,disabled' },
      { field: 'created_at', operator: '_gt', value: '2026-01-01' },
      { field: 'created_at', operator: '_lt', value: '2026-02-01' },
    ]);
  });

  it('returns a condition for each attribute', () => {
    const values = { 'attributes.tier': 'gold', 'attributes.seat_in': 'x' };
    expect(conditionsOf(values, fields).map(parameterOf)).toEqual(['attributes.tier', 'attributes.seat_in']);
  });

  it('ignores the order of the list and parameters that are no filters', () => {
    expect(conditionsOf({ order_by: 'status', q: 'ann', status_like: 'a' }, fields)).toEqual([]);
  });

  it('names the parameter that each condition was read from', () => {
    const values = { status: 'active', created_at_gt: '2026-01-01', 'attributes.tier': 'gold' };
    expect(conditionsOf(values, fields).map(parameterOf)).toEqual(Object.keys(values));
  });
});
