/**
 * A piece of SQL with its bind values apart from its text. Created by `sql`, `rawSql` and `joinSql`
 * only.
 */
export class SqlFragment {
  constructor(
    /** texts between the values; one more than `values` */
    readonly parts: readonly string[],
    readonly values: readonly unknown[],
  ) {}

  /** Returns the text with `$1…$n` and the values, as the driver expects them. */
  toQuery(): { text: string; values: unknown[] } {
    const text = this.parts.reduce((before, part, index) => `${before}$${index}${part}`);
    return { text, values: [...this.values] };
  }
}

/**
 * Renders SQL from a template. Each `${value}` becomes a bind parameter. Each `${fragment}` is
 * inserted together with its own values. Text of a request never becomes SQL text (CWE-89).
 */
export function sql(strings: TemplateStringsArray, ...inserts: unknown[]): SqlFragment {
  const parts: string[] = [strings[0] ?? ''];
  const values: unknown[] = [];
  inserts.forEach((insert, index) => {
    const after = strings[index + 1] ?? '';
    if (!(insert instanceof SqlFragment)) {
      values.push(insert);
      parts.push(after);
      return;
    }
    parts[parts.length - 1] += insert.parts[0] ?? '';
    parts.push(...insert.parts.slice(1));
    parts[parts.length - 1] += after;
    values.push(...insert.values);
  });
  return new SqlFragment(parts, values);
}

/** Renders constant SQL text: a column, an expression. The text must never come from a request. */
export function rawSql(text: string): SqlFragment {
  return new SqlFragment([text], []);
}

/** Joins fragments with a separator. Returns `empty` if there are no fragments. */
export function joinSql(fragments: readonly SqlFragment[], separator: string, empty = 'true'): SqlFragment {
  const [first, ...rest] = fragments;
  if (first === undefined) return rawSql(empty);
  return rest.reduce((joined, fragment) => sql`${joined}${rawSql(separator)}${fragment}`, first);
}
