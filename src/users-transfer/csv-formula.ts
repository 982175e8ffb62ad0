/**
 * Matches cells to which `csv_cell` (migrations/1795200003000-AddTransfer.ts) added an apostrophe,
 * because a spreadsheet would run them as a formula (OWASP CSV Injection).
 */
const guarded = /^'+[-=+@\t\r\n＝＋－＠]/;

/**
 * Removes the apostrophe that `csv_cell` added. Removes only one, so that a cell that started with
 * apostrophes is restored.
 */
export function unguarded(cell: string): string {
  return guarded.test(cell) ? cell.slice(1) : cell;
}
