/**
 * Returns the value of a key that a user or a URL may choose.
 * Keys that every object inherits, such as `constructor` and `__proto__`, have no value.
 */
export function own<Value>(values: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(values, key) ? values[key] : undefined;
}
