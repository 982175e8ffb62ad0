import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';

const SENTENCES = 'docs/threats.json';
/** Files with tables of titles for `it.each(table)('%s', …)`. */
const TABLES = /^test\/support\/forgeries\//;
const ID = /\b[A-Z]\d+\b/;
/** Text in brackets at the end of a title: threat ids or sources, for example a CVE. */
const BRACKETS = / \(([^()]*)\)$/;
/** Precedes the reason in the sentence of a threat without a test. */
const NO_TEST = 'No test: ';

/**
 * Prints each threat with the titles of its tests, or only the threats that the arguments name.
 * With `--check` prints nothing.
 * @throws on an unknown id, and on a threat with neither a test nor a reason
 */
function main() {
  const sections = JSON.parse(readFileSync(SENTENCES, 'utf8'));
  const titles = [...filesIn('test'), ...filesIn('src')].flatMap(titlesIn);
  const threats = Object.values(sections).flatMap((section) =>
    Object.entries(section).map(([id, sentence]) => ({
      id,
      sentence,
      tests: titles.filter(({ ids }) => ids.includes(id)),
    })),
  );
  const known = new Set(threats.map(({ id }) => id));
  const wrong = [...titles.flatMap((title) => faultsOf(title, known)), ...threats.flatMap(faultsOfThreat)];
  if (wrong.length > 0) throw new Error(`Wrong threats:\n${wrong.join('\n')}`);
  const wanted = process.argv.slice(2);
  if (wanted.includes('--check')) return;
  console.log(
    threats
      .filter(({ id }) => wanted.length === 0 || wanted.includes(id))
      .map(textOf)
      .join('\n'),
  );
}

function filesIn(root) {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .map((entry) => relative('.', join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.spec.ts') || (TABLES.test(file) && file.endsWith('.ts')))
    .sort();
}

/** Returns the titles of the tests of a file, with the ids in brackets at their ends. */
function titlesIn(file) {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
  const found = [];
  const visit = (node) => {
    const literal = TABLES.test(file) ? titleOfRow(node) : titleOfTest(node);
    if (literal !== undefined) found.push(titleOf(file, literal));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Returns the title of `it(title, …)` or `it.each(…)(title, …)`. */
function titleOfTest(node) {
  if (!ts.isCallExpression(node) || node.arguments.length < 2) return undefined;
  let callee = node.expression;
  if (ts.isPropertyAccessExpression(callee)) return undefined;
  while (ts.isCallExpression(callee) || ts.isPropertyAccessExpression(callee)) callee = callee.expression;
  return callee.getText() === 'it' ? node.arguments[0] : undefined;
}

/** Returns the title of a row `[title, …]` if the title ends with brackets. */
function titleOfRow(node) {
  if (!ts.isArrayLiteralExpression(node)) return undefined;
  const [first] = node.elements;
  return first !== undefined && ts.isStringLiteral(first) && BRACKETS.test(first.text) ? first : undefined;
}

function titleOf(file, literal) {
  const text = ts.isStringLiteralLike(literal) ? literal.text : literal.getText().slice(1, -1);
  const ids = (BRACKETS.exec(text)?.[1] ?? '').split(', ').filter((id) => /^[A-Z]\d+$/.test(id));
  return { file, text, title: ids.length > 0 ? text.replace(BRACKETS, '') : text, ids };
}

function faultsOf({ file, text, title, ids }, known) {
  const unknown = ids.filter((id) => !known.has(id)).map((id) => `${file}: "${text}" names an unknown threat ${id}`);
  return ID.test(title) ? [...unknown, `${file}: "${text}" names a threat outside the brackets at its end`] : unknown;
}

function faultsOfThreat({ id, sentence, tests }) {
  if ((tests.length === 0) === sentence.includes(NO_TEST)) return [];
  const fault = tests.length === 0 ? `has neither a test nor a reason after "${NO_TEST}"` : 'has a test';
  return [`${SENTENCES}: ${id} ${fault}: "${sentence}"`];
}

function textOf({ id, sentence, tests }) {
  return [`${id} ${sentence}`, ...tests.map(({ file, title }) => `   ${title} (${file})`)].join('\n');
}

main();
