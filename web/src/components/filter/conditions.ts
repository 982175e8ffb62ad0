/** Suffixes of filter parameters; empty = equals. */
export type Operator = '' | '_ne' | '_in' | '_gt' | '_gte' | '_lt' | '_lte' | '_isnull' | '_like';

/** How a field can be filtered. */
export interface FilterField {
  /** `attribute`: any attribute, such as `attributes.tier` */
  kind: 'text' | 'choice' | 'boolean' | 'time' | 'id' | 'number' | 'attribute';
  operators: readonly Operator[];
  choices?: readonly string[];
}

/** The fields of a list, as `src/api/filters.ts` describes them. */
export type FilterFields = Readonly<Record<string, FilterField>>;

/** One condition of a filter. */
export interface Condition {
  field: string;
  operator: Operator;
  /** values of `_in` are separated by commas */
  value: string;
}

/** Names of fields and choices in the current language. */
export interface FilterNames {
  fields: Record<string, string>;
  /** by field, then by choice */
  choices?: Record<string, Record<string, string>>;
  /** suggested values, by field */
  suggestions?: Record<string, readonly string[]>;
}

/** Minimum length of a search within texts: the index consists of groups of three characters. */
export const searchMinLength = 3;

/** Prefix of parameters that filter by an attribute. */
export const attributePrefix = 'attributes.';

/** Returns the conditions in the parameters of a list. */
export function conditionsOf(values: Record<string, string>, fields: FilterFields): Condition[] {
  return Object.entries(fields).flatMap(([field, { kind, operators }]) => {
    if (kind === 'attribute')
      return Object.entries(values).flatMap(([name, value]) =>
        name.startsWith(attributePrefix) ? [{ field: name, operator: '' as const, value }] : [],
      );
    return operators.flatMap((operator) => {
      const value = values[`${field}${operator}`];
      return value === undefined ? [] : [{ field, operator, value }];
    });
  });
}

/** Returns the name of the parameter of a condition, such as `created_at_gt`. */
export function parameterOf({ field, operator }: Condition): string {
  return `${field}${operator}`;
}
