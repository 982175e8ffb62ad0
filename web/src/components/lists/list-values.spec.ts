import type { FilterFields } from '../filter/conditions';
import { filtersIn, knownValues, queryOf, withChanges } from './list-values';

const fields: FilterFields = {
  name: { kind: 'text', operators: ['', '_in', '_like'] },
  created_at: { kind: 'time', operators: ['_gt'] },
};
const withAttributes: FilterFields = { ...fields, attributes: { kind: 'attribute', operators: [''] } };
const known = (search: string, of = fields) => knownValues(new URLSearchParams(search), of, ['deleted']);

describe('the parameters of a list in the URL', () => {
  it('contain conditions, the order and extras, and nothing else', () => {
    const search = 'name_like=ann&created_at_gt=2026-01-01&order_by=name&order_dir=asc&deleted=true';
    expect(known(search)).toEqual({
      name_like: 'ann',
      created_at_gt: '2026-01-01',
      order_by: 'name',
      order_dir: 'asc',
      deleted: 'true',
    });
    expect(known('cursor=x&per_page=50&created_at_lt=2026&name_gt=a&unknown=1&attributes.tier=gold')).toEqual({});
  });

  it('ignore empty values, and use the last of several values', () => {
    expect(known('name=&name_like=ann&name_like=bob')).toEqual({ name_like: 'bob' });
  });

  it('contain any attribute of a list that filters by attributes', () => {
    expect(known('attributes.tier=gold&attributes=x', withAttributes)).toEqual({ 'attributes.tier': 'gold' });
  });

  it('filter the list unless they are its order', () => {
    expect(filtersIn({ order_by: 'name', q: 'ann', order_dir: 'asc', deleted: 'true' })).toEqual(['q', 'deleted']);
    expect(filtersIn({ order_by: 'name' })).toEqual([]);
  });

  it('become the query of the API, with the values of `_in` as an array', () => {
    expect(queryOf({ name_in: 'ann,bob', name_like: 'a,b' })).toEqual({ name_in: ['ann', 'bob'], name_like: 'a,b' });
  });

  it('are set, replaced and removed without changing the others', () => {
    const search = new URLSearchParams('name=ann&utm=x&q=old');
    const changed = withChanges(search, { name: null, q: 'new', status: 'active', deleted: '' });
    expect(String(changed)).toBe('utm=x&q=new&status=active');
  });

  it('keep a change that the router has not shown yet when the next one comes', () => {
    const search = new URLSearchParams('name=ann');
    withChanges(search, { q: 'new' });
    const changed = withChanges(search, { name: null });
    expect(String(changed)).toBe('q=new');
    expect(changed).not.toBe(search);
  });
});
