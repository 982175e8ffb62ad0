import { createInterface } from 'node:readline';
import { CommandError } from '../command-error';

/** A result, as JSON for scripts and as text for people. */
export interface Answer {
  json: unknown;
  text: string;
}

/** Control characters, and characters that are invisible or change the direction of the text. */
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
/** Characters of two columns: Han, Hangul and Kana with their punctuation, and emoji. */
const wide = /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60\uffe0-\uffe6]/u;
const segments = new Intl.Segmenter();

/** Escapes characters with which a stored text could control the terminal (O16). */
export function safe(text: string): string {
  return text.replace(unsafe, escaped);
}

function escaped(character: string): string {
  return character.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Prints to stderr: stdout is reserved for results. */
export function note(text: string): void {
  console.error(text.split('\n').map(safe).join('\n'));
}

/** Prints a result to stdout, on one line if more results follow. */
export function print({ json, text }: Answer, asJson: boolean, isLine: boolean): void {
  if (!asJson) return console.log(text.split('\n').map(safe).map(fitted).join('\n'));
  const document = JSON.stringify(json, null, isLine ? undefined : 2);
  // JSON.stringify only escapes the first 32 characters. Line breaks between members stay.
  console.log(document.replace(unsafe, (character) => (character === '\n' ? character : escaped(character))));
}

/** Cuts a line to the width of the terminal. */
function fitted(line: string): string {
  const max = process.stdout.columns || Infinity;
  if (line.length * 2 <= max || widthOf(line) <= max) return line;
  let [cut, width] = ['', 1];
  for (const { segment } of segments.segment(line)) {
    width += widthOf(segment);
    if (width > max) break;
    cut += segment;
  }
  return `${cut}…`;
}

function widthOf(text: string): number {
  return Array.from(segments.segment(text)).reduce((sum, { segment }) => sum + (wide.test(segment) ? 2 : 1), 0);
}

/** Returns a value of a response as text without control characters. */
export function cell(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-';
  if (Array.isArray(value)) return value.map(cell).join(', ') || '-';
  if (typeof value !== 'string') return safe(JSON.stringify(value)).replace(/^\{\}$/, '-');
  return timestamp.test(value) ? `${value.slice(0, 10)} ${value.slice(11, 19)}Z` : safe(value);
}

/** Returns aligned columns with a header. */
export function table<Item extends object>(items: Item[], columns: readonly (keyof Item & string)[]): string {
  const rows = items.map((item) => columns.map((column) => cell(item[column])));
  return aligned([columns.map((column) => column.toUpperCase().replaceAll('_', ' ')), ...rows]);
}

/** Returns one line per field that has a value. */
export function fields(record: object): string {
  const rows = Object.entries(record).map(([name, value]) => [name.replaceAll('_', ' '), cell(value)]);
  return aligned(rows.filter(([, value]) => value !== '-'));
}

function aligned(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => widthOf(row[index] ?? ''))));
  const padded = (text: string, index: number) => text + ' '.repeat((widths[index] ?? 0) - widthOf(text));
  return rows.map((row) => row.map(padded).join('  ').trimEnd()).join('\n');
}

/**
 * Asks before a change that is hard to undo, unless `--yes` is set.
 * @throws CommandError without a terminal, and if the answer is not yes
 */
export async function confirm(question: string, yes = false): Promise<void> {
  if (yes) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new CommandError('usage', `${safe(question)} Without a terminal, this needs --yes.`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await new Promise<string>((resolve) => {
    // Ctrl+C and the end of the input close the terminal without an answer.
    terminal.once('close', () => resolve(''));
    terminal.question(`${safe(question)} [y/N] `, resolve);
  });
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError('failed', 'Nothing was changed.');
}
