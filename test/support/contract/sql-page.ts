/** Matches a line that opens a list of columns or a part in parentheses. */
const opensBlock = /\b(?:select|returning)$|\($/;
const opensColumns = /\b(?:select|returning)$/;
/** Blocks of fewer lines are always printed. */
const shortestBlock = 3;
/** A column without calculation, or the name and type of a field. */
const plainColumn = /^(?!case$|end )[\w.]+(\([\w.]+\))?( (as )?\w+(\[\])?)?,?$/;
const width = 120;

const indentOf = (line: string): number => line.length - line.trimStart().length;

/** Returns a block without its indentation, its last comma and the numbers of its parameters. */
const keyOf = (block: string[]): string => {
  const indent = indentOf(block[0] ?? '');
  return block
    .map((line) => line.slice(indent).replace(/\$\d+/g, '$'))
    .join('\n')
    .replace(/,$/, '');
};

/** Shortens the statements of a page: names each part that the page has already shown. */
export class SqlPage {
  /** method that shows a block, by the key of the block */
  private readonly shown = new Map<string, string>();

  /** Replaces known columns by `<columns of method>`, and known parts by `<as in method>`. */
  shorten(statement: string, method: string): string {
    const lines = statement.split('\n');
    const result: string[] = [];
    for (let at = 0; at < lines.length;) {
      const line = lines[at++] ?? '';
      result.push(line);
      if (!opensBlock.test(line)) continue;
      const next = lines.slice(at).findIndex((other) => indentOf(other) <= indentOf(line));
      const block = lines.slice(at, next === -1 ? undefined : at + next);
      const known = this.find(block, opensColumns.test(line));
      if (known !== null) {
        result.push(known.text);
        at += known.length;
      } else if (block.length >= shortestBlock) this.shown.set(keyOf(block), method);
    }
    return packed(result).join('\n');
  }

  /** Finds a known block, or known columns that others follow. */
  private find(block: string[], isColumns: boolean): { text: string; length: number } | null {
    for (let length = block.length; length >= shortestBlock; length--) {
      const comma = block[length - 1]?.endsWith(',') === true ? ',' : '';
      const isWhole = length === block.length;
      const method = this.shown.get(keyOf(block.slice(0, length)));
      if (method === undefined || (!isWhole && (!isColumns || comma === ''))) continue;
      const name = `<${isColumns ? 'columns of' : 'as in'} ${method}>`;
      return { text: ' '.repeat(indentOf(block[0] ?? '')) + name + comma, length };
    }
    return null;
  }
}

/** Joins lines of plain columns. */
function packed(lines: string[]): string[] {
  return lines.reduce<string[]>((result, line) => {
    const [last = '', code] = [result.at(-1), line.trim()];
    const joins =
      last.endsWith(',') &&
      indentOf(last) === indentOf(line) &&
      [...last.split(', '), code].every((part) => plainColumn.test(part.trim())) &&
      last.length + 1 + code.length <= width;
    return joins ? [...result.slice(0, -1), `${last} ${code}`] : [...result, line];
  }, []);
}
