import { isObject } from '../../own';

/** Name of a field of a form. */
export type FieldOf<Values> = keyof Values & string;

/** Returns whether two values of a field mean the same, in any order of lists and JSON. */
export function isSame(one: unknown, other: unknown): boolean {
  return comparable(one) === comparable(other);
}

function comparable(value: unknown): string {
  const content =
    typeof value === 'string' ? contentOf(value) : Array.isArray(value) ? [...(value as unknown[])].sort() : value;
  return JSON.stringify(content, (_, inner: unknown) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).sort()) : inner,
  );
}

/** Returns the object in a text of JSON, or the text without spaces around it. */
function contentOf(text: string): unknown {
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) ? parsed : text.trim();
  } catch {
    return text.trim();
  }
}

/** Returns the fields whose values differ. */
export function changedFields<Values extends object>(before: Values, after: Values): FieldOf<Values>[] {
  return (Object.keys(before) as FieldOf<Values>[]).filter((field) => !isSame(before[field], after[field]));
}

/** Returns the fields that both versions changed since `before`, to different values. */
export function disputedFields<Values extends object>(before: Values, mine: Values, theirs: Values): FieldOf<Values>[] {
  const changed = new Set(changedFields(before, mine));
  return changedFields(before, theirs).filter((field) => changed.has(field) && !isSame(mine[field], theirs[field]));
}

/** Returns the values of some fields. */
export function pick<Values extends object>(values: Values, fields: readonly FieldOf<Values>[]): Partial<Values> {
  return Object.fromEntries(fields.map((field) => [field, values[field]])) as Partial<Values>;
}

/** Returns the edits without those that were sent. Keeps an edit that changed in the meantime. */
export function unsentEdits<Values extends object>(edits: Partial<Values>, sent: Partial<Values>): Partial<Values> {
  const fields = (Object.keys(edits) as FieldOf<Values>[]).filter((field) => edits[field] !== sent[field]);
  return pick(edits as Values, fields);
}
