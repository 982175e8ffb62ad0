import type { Scope } from '../../access/scope';
import { parseConditions } from '../../http/lists/filter';
import { changeMatcher } from './change-matcher';
import { changeFilter } from './change-query';
import type { ChangeRecord } from './changes.dto';

const change = (target_type: string, carrier_id: string | null, type = `${target_type}.changed`) =>
  ({ type, target_type, carrier_id }) as ChangeRecord;
const scopeOf = (carrier_scope: string[] | null): Scope => ({
  ...{ actor_type: 'user', user_id: 'u1', user_type: 'system', carrier_id: null },
  carrier_scope,
});
const all = scopeOf(null);
const ofCarrier: Scope = { ...all, user_type: 'carrier', carrier_id: 'c1' };
const changes = [
  ...['user', 'session', 'role', 'key'].map((target_type) => change(target_type, 'c1')),
  ...[change('user', 'c2'), change('user', null), change('role', null)],
];
const shown = (scope: Scope, query: Record<string, string> = {}) =>
  changes
    .filter(changeMatcher(scope, parseConditions(query, changeFilter)))
    .map(({ type, carrier_id }) => `${type} ${String(carrier_id)}`);

describe('changeMatcher', () => {
  it('shows every change to a caller without a limited scope', () => {
    expect(shown(all)).toHaveLength(changes.length);
  });

  it('shows a limited scope the users of its carriers and their sessions only (C1)', () => {
    const own = ['user.changed c1', 'session.changed c1'];
    expect(shown(ofCarrier)).toEqual(own);
    expect(shown(scopeOf(['c1', 'c3']))).toEqual(own);
    expect(shown(scopeOf([]))).toEqual([]);
    expect(shown({ ...ofCarrier, carrier_id: null })).toEqual([]);
  });

  it('matches all conditions', () => {
    expect(shown(all, { target_type: 'user', carrier_id_in: 'c2,c3' })).toEqual(['user.changed c2']);
    expect(shown(all, { type: 'user.changed' })).toHaveLength(3);
    expect(shown(all, { carrier_id: 'c9' })).toEqual([]);
  });
});
