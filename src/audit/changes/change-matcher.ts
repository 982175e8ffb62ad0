import type { Scope } from '../../access/scope';
import type { Condition } from '../../http/lists/filter';
import type { ChangeRecord } from './changes.dto';

/** Returns whether a caller gets a change. */
export type ChangeMatcher = (change: ChangeRecord) => boolean;

/**
 * Returns the matcher for a scope and the conditions of `changeFilter`, as `ChangesRepository.list`
 * renders them in SQL (C1).
 */
export function changeMatcher(scope: Scope, conditions: Condition[]): ChangeMatcher {
  const parts = conditions.map(conditionMatcher);
  if (scope.user_type === 'carrier' || scope.carrier_scope !== null) parts.push(scopeMatcher(scope));
  return (change) => parts.every((matches) => matches(change));
}

/** A limited scope shows the users of its carriers and their sessions, and no roles and keys. */
function scopeMatcher({ user_type, carrier_id, carrier_scope }: Scope): ChangeMatcher {
  const carriers = new Set(user_type === 'carrier' ? [carrier_id] : carrier_scope);
  return (change) =>
    (change.target_type === 'user' || change.target_type === 'session') &&
    change.carrier_id !== null &&
    carriers.has(change.carrier_id);
}

function conditionMatcher(condition: Condition): ChangeMatcher {
  if (condition.kind !== 'field') return () => false;
  const { field, operator, value } = condition;
  const values = new Set<unknown>(operator === 'in' ? (value as unknown[]) : [value]);
  return (change) => values.has(change[field as 'type' | 'target_type' | 'carrier_id']);
}
