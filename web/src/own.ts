/**
 * Returns the value of an own key of an object. Use it for keys from users or URLs: inherited keys
 * such as `constructor` return undefined.
 */
export function own<Value>(values: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(values, key) ? values[key] : undefined;
}
