/**
 * Returns the value of an own key of an object. Use it for keys from users or URLs: inherited keys
 * such as `constructor` return undefined.
 */
export function own<Value>(values: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(values, key) ? values[key] : undefined;
}

/** Returns whether a parsed JSON value is an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
