import { AsyncLocalStorage } from 'node:async_hooks';
import { inspect } from 'node:util';
import { Client } from 'pg';
import { systemActor } from '../../../src/access/actor';
import type { Actor } from '../../../src/access/actor';
import type { Condition } from '../../../src/http/lists/filter';

/** Id of a Carrier User of carrier `c1` who exists while examples run. */
export const user_id = '00000000-0000-4000-8000-000000000001';
/** Id of a row that does not exist. */
export const other_id = '00000000-0000-4000-8000-000000000002';
/** Id of an import that is receiving rows while examples run. */
export const operation_id = '00000000-0000-4000-8000-000000000003';
/** A hash of 32 bytes. */
export const hash = Buffer.alloc(32, 1);

/** Sees all users. */
export const administrator: Actor = named('administrator', { ...systemActor, actor_type: 'user', user_id });
/** A System User who is limited to carrier `c1`. */
export const limited: Actor = named('limited', { ...administrator, carrier_scope: ['c1'] });
/** A Carrier User of carrier `c1`. */
export const carrierUser: Actor = named('carrierUser', { ...administrator, user_type: 'carrier', carrier_id: 'c1' });

/** Finds users by a part of their last name, in `user_search`. */
export const lastNameLike: Condition = named('lastNameLike', {
  kind: 'field',
  field: 'last_name',
  operator: 'like',
  value: 'doe',
});

/** Beginning and end of an operation. */
export const times = named('times', {
  began_at: new Date('2026-11-01T12:00:00Z'),
  ended_at: new Date('2026-11-01T13:00:00Z'),
});

/** The result of an operation that changed one user and skipped another. */
export const outcome = named('outcome', {
  processed: 2,
  changed: 1,
  unchanged: 0,
  skipped_count: 1,
  skipped_reasons: { 'user.not_found': 1 },
  skipped: [{ user_id: other_id, reason: 'user.not_found' }],
});

type Method = (...args: never[]) => unknown;

type ArgsOf<Value> = Value extends (...args: infer Args) => unknown ? Args : never;

type Calls<Repository> = {
  [Name in keyof Repository as Repository[Name] extends Method ? Name : never]: [
    ArgsOf<Repository[Name]>,
    ...ArgsOf<Repository[Name]>[],
  ];
};

type Result<Repository> = Awaited<ReturnType<Extract<Repository[keyof Repository], Method>>>;

/** Example calls of a repository: for each public method, at least one list of arguments. */
export interface SqlExamples {
  repository: new (...args: never[]) => object;
  calls: Record<string, unknown[][]>;
  /** reads a result to its end; set for results that send statements while they are read */
  read?: (result: never) => unknown;
}

/** Declares the example calls of a repository. Each public method must have an example. */
export function sqlExamples<Repository extends object>(
  repository: new (...args: never[]) => Repository,
  calls: Calls<Repository>,
  read?: (result: Result<Repository>) => unknown,
): SqlExamples {
  return { repository, calls, read };
}

/** Names a value, so that comments in docs/sql show the name instead of the content. */
export function named<Value extends object>(name: string, value: Value): Value {
  return Object.defineProperty(value, inspect.custom, { value: () => name, enumerable: false });
}

const captured = new AsyncLocalStorage<string[]>();

/** Makes the driver report its statements to `captureSql`. Returns a function that undoes this. */
export function observeDriver(): () => void {
  const { query } = Client.prototype;
  Client.prototype.query = function (this: Client, ...args: [string | { text: string }]) {
    const [statement] = args;
    captured.getStore()?.push(typeof statement === 'string' ? statement : statement.text);
    return query.apply(this, args as never);
  } as never;
  return () => {
    Client.prototype.query = query;
  };
}

/** Runs a call and returns the texts of the statements that it sends. */
export async function captureSql(call: () => unknown): Promise<string[]> {
  const texts: string[] = [];
  await captured.run(texts, async () => call());
  return texts;
}

const commentMax = 100;

/** Returns the comment line of an example: the call, cut at 100 columns. */
export function describeCall(method: string, args: unknown[]): string {
  const shown = args.map((arg) =>
    inspect(arg, { breakLength: Infinity, compact: true, depth: 4, maxStringLength: 40 }),
  );
  const call = `-- ${method}(${shown.join(', ')})`
    .replaceAll(`'${user_id}'`, 'user_id')
    .replaceAll(`'${other_id}'`, 'other_id')
    .replaceAll(`'${operation_id}'`, 'operation_id')
    .replaceAll(inspect(hash), 'hash');
  return call.length <= commentMax ? call : `${call.slice(0, commentMax - 3)}...`;
}

const clauses = [
  'explain|with|select|from|where|group by|order by|limit|offset|having|window|union|except|intersect',
  'for (no key )?(update|share)',
  'insert|values|update|set|delete|on conflict|returning',
  '((left|right|full|cross|inner) )?join',
];
const clause = new RegExp(`^(${clauses.join('|')})\\b`, 'i');

/** An open parenthesis or CASE. */
interface Nesting {
  /** indentation of the line that opened it */
  indent: number;
  /** whether a clause has begun in it */
  hasClause: boolean;
}

/**
 * Returns a statement with its own line breaks and a uniform indentation: two spaces for each open
 * parenthesis or CASE, and two more for lines that continue a clause.
 */
export function indentSql(text: string): string {
  const open: Nesting[] = [{ indent: -1, hasClause: false }];
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return lines
    .map((line, index) => {
      // A comment has the indentation of the line below it.
      const code = lines.slice(index).find((other) => !other.startsWith('--')) ?? line;
      const indent = indentOf(code, open);
      nest(open, line, indent);
      return '  '.repeat(indent) + line;
    })
    .join('\n');
}

function indentOf(line: string, open: Nesting[]): number {
  const closed = /^(\)+|end\b)/i.exec(line)?.[0] ?? '';
  if (closed !== '') return open.at(closed.startsWith(')') ? -closed.length : -1)?.indent ?? 0;
  const within = open.at(-1) ?? { indent: -1, hasClause: false };
  if (!clause.test(line)) return within.indent + (within.hasClause ? 2 : 1);
  within.hasClause = true;
  return within.indent + 1;
}

/** Adds the parentheses and CASEs that a line opens, and removes those that it closes. */
function nest(open: Nesting[], line: string, indent: number): void {
  const code = line.replace(/--.*$/, '').replace(/'(?:[^']|'')*'/g, '');
  for (const [token] of code.matchAll(/[()]|\bcase\b|\bend\b/gi)) {
    if (token === ')' || token.toLowerCase() === 'end') open.pop();
    else open.push({ indent, hasClause: false });
  }
}
