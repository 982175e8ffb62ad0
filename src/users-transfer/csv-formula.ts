/**
 * Matches cells to which `csv_cell` (migrations/1795200025000-GuardCellParts.ts) added an
 * apostrophe, because a spreadsheet would run them as a formula (OWASP CSV Injection).
 */
const guarded = /^'+[-=+@\t\r\n＝＋－＠]/;
/** Matches the guarded parts of a cell. A spreadsheet may split cells at `;`, tab or line break. */
const guardedParts = /([;\t\r\n])'(?=['"]*[-=+@＝＋－＠])/g;

/**
 * Removes the apostrophes that `csv_cell` added. Removes only one from the cell and from each part,
 * so that a cell that started with apostrophes is restored.
 */
export function unguarded(cell: string): string {
  return (guarded.test(cell) ? cell.slice(1) : cell).replace(guardedParts, '$1');
}
