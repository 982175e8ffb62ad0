import { attributePrefix, type FilterFields } from '../filter/conditions';

const orderKeys = ['order_by', 'order_dir'];

/** Returns the parameters of a URL that a list knows: conditions, its order and extras. */
export function knownValues(
  search: URLSearchParams,
  fields: FilterFields,
  extras: readonly string[],
): Record<string, string> {
  const names = new Set([...orderKeys, ...extras]);
  const hasAttributes = Object.values(fields).some(({ kind }) => kind === 'attribute');
  for (const [field, { kind, operators }] of Object.entries(fields))
    if (kind !== 'attribute') for (const operator of operators) names.add(`${field}${operator}`);
  const isKnown = (name: string) => names.has(name) || (hasAttributes && name.startsWith(attributePrefix));
  return Object.fromEntries([...search].filter(([name, value]) => value !== '' && isKnown(name)));
}

/** Returns the names of the parameters that filter a list, which are all but its order. */
export function filtersIn(values: Record<string, string>): string[] {
  return Object.keys(values).filter((name) => !orderKeys.includes(name));
}

/** Returns the query of the API, which takes the values of `_in` as an array. */
export function queryOf(values: Record<string, string>): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, name.endsWith('_in') ? value.split(',') : value]),
  );
}

/**
 * Applies changes to the parameters of a URL, and returns a copy. null and '' remove a parameter.
 * Changes them in place, because the next change may come before the router shows this one.
 */
export function withChanges(search: URLSearchParams, changes: Record<string, string | null>): URLSearchParams {
  for (const [name, value] of Object.entries(changes))
    if (value === null || value === '') search.delete(name);
    else search.set(name, value);
  return new URLSearchParams(search);
}
