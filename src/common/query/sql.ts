/**
 * A piece of SQL whose values travel apart from its text. Only `sql`, `joinSql` and `identifier`
 * make one.
 */
export class SqlFragment {
  constructor(
    /** the text between the values; one longer than `values` */
    readonly parts: readonly string[],
    readonly values: readonly unknown[],
  ) {}

  /** Text with `$1…$n` and the values, as the driver wants them. */
  toQuery(): { text: string; values: unknown[] } {
    const text = this.parts.reduce((before, part, index) => `${before}$${index}${part}`);
    return { text, values: [...this.values] };
  }
}

/**
 * SQL as a template: each `${value}` becomes a bind parameter, each `${fragment}` is put in place
 * with its own. There is no way to put text from a request into SQL by it (CWE-89).
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

/**
 * SQL text written in this code base: a column, an expression. Never give it anything from a
 * request.
 */
export function rawSql(text: string): SqlFragment {
  return new SqlFragment([text], []);
}

/** Fragments with a separator between them; `empty` when there are none. */
export function joinSql(fragments: readonly SqlFragment[], separator: string, empty = 'true'): SqlFragment {
  const [first, ...rest] = fragments;
  if (first === undefined) return rawSql(empty);
  return rest.reduce((joined, fragment) => sql`${joined}${rawSql(separator)}${fragment}`, first);
}
