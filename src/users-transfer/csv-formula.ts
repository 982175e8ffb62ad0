/**
 * What a spreadsheet takes for a formula, and what an export has put an apostrophe before; the same
 * characters as in `csv_cell` (migrations/1795200003000-AddTransfer.ts).
 */
const guarded = /^'+[-=+@\t\r\n＝＋－＠]/;

/**
 * A cell as it was before `csv_cell` put an apostrophe before it. Exactly one is taken away, so
 * that what had apostrophes of its own has them again.
 */
export function unguarded(cell: string): string {
  return guarded.test(cell) ? cell.slice(1) : cell;
}
