/** Values with a name in the OpenAPI document, for which generated clients have one type. */
export interface NamedEnum {
  /** the first value is the example, unless a parameter has a default */
  values: readonly string[];
  /** prefix of the constants: in Go, all enums of a package share one namespace */
  constants?: string | undefined;
}

/** All named enums by name. */
export const namedEnums = new Map<string, NamedEnum>();

/** Names values in the OpenAPI document, and returns them. Their docstring is the description. */
export function namedEnum<const V extends readonly string[]>(name: string, values: V, constants?: string): V {
  namedEnums.set(name, { values, constants });
  return values;
}
