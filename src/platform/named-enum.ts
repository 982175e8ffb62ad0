/**
 * Values by the name of their type in generated clients. The first value is the example, unless a
 * parameter has a default.
 */
export const namedEnums = new Map<string, readonly string[]>();

/** Names values in the OpenAPI document, and returns them. Their docstring is the description. */
export function namedEnum<const V extends readonly string[]>(name: string, values: V): V {
  namedEnums.set(name, values);
  return values;
}
