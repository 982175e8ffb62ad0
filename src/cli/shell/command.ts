import type { Identity } from '@carrier-identity/client';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { currentTime } from '../../platform/clock';
import { CommandError } from '../command-error';
import { type Answer, note, print, table } from './output';

/** Values of the options. Each command has some of them. */
export interface Options {
  after?: string;
  all?: true;
  factors?: string;
  for: number;
  ifVersion?: number;
  json?: true;
  keepOld: number;
  keyFile?: string;
  keys?: 'keep' | 'suspend';
  limit: number;
  reason?: string;
  since?: Date;
  type?: string[];
  user?: string;
  yes?: true;
}

/** What a command works with. */
export interface Shell {
  identity: Identity;
  options: Options;
  /** aborted by Ctrl+C */
  signal: AbortSignal;
}

/** Returns one result, or yields results without end. */
type Run = (shell: Shell, ...args: string[]) => Promise<Answer> | AsyncIterable<Answer>;

/** Adds a command to the program, below the group that its first word names. */
export type ShellCommand = (program: Command, groups: Record<string, string>) => void;

const secondsPer: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 };
const day = 86_400;

const options = {
  after: new Option('--after <cursor>', 'continue where an earlier command ended').conflicts('since'),
  all: new Option('--all', 'also those that have ended'),
  factors: new Option('--factors <decision>', 'keep, remove_all, or the ids of the second factors to remove'),
  for: new Option('--for <duration>', 'how long: 30m, 24h, 7d').argParser(seconds).default(day, '24h'),
  ifVersion: new Option('--if-version <version>', 'only if the user still has this version').argParser(integer(1)),
  keepOld: new Option('--keep-old <duration>', 'how long the old secret works').argParser(seconds).default(day, '24h'),
  keys: new Option('--keys <decision>', 'what happens to the API keys of the user').choices(['keep', 'suspend']),
  limit: new Option('--limit <rows>', 'maximum number of rows').argParser(integer(1, 10_000)).default(50),
  reason: new Option('--reason <text>', 'why'),
  since: new Option('--since <time>', 'begin at 2026-11-28T12:00:00Z, or some time ago: 30m, 2h, 7d').argParser(time),
  type: new Option('--type <types>', 'only these types, separated by commas').argParser((text) => text.split(',')),
  user: new Option('--user <user>', 'only of this user'),
  yes: new Option('--yes', 'do not ask'),
};

/**
 * Returns a command that calls the API.
 * @param usage its words and arguments: `user find <text>`
 * @param example arguments of an example
 */
export function command(
  usage: string,
  description: string,
  example: string,
  names: (keyof typeof options)[],
  run: Run,
): ShellCommand {
  const [noun = '', verb = '', ...parameters] = usage.split(' ');
  return (program, groups) => {
    const group = program.commands.find((one) => one.name() === noun) ?? program.command(noun);
    const added = group.description(groups[noun] ?? '').command([verb, ...parameters].join(' '));
    for (const name of names) added.addOption(options[name]);
    added
      .description(description)
      .option('--json', 'print JSON')
      .option('--key-file <file>', 'read the API key or access token from a file')
      .addHelpText('after', `\nExample:\n  ${program.name()} ${noun} ${verb} ${example}`.trimEnd())
      .action(() => execute(run, added.opts<Options>(), added.args));
  };
}

async function execute(run: Run, given: Options, args: string[]): Promise<void> {
  const { connect, explain } = await import('./api.js');
  const stop = new AbortController();
  const asJson = given.json === true;
  // `| head` has read enough.
  process.stdout.on('error', () => process.exit(0));
  try {
    const result = run({ identity: connect(given.keyFile), options: given, signal: stop.signal }, ...args);
    if (result instanceof Promise) return print(await result, asJson, false);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
    for await (const line of result) print(line, asJson, true);
  } catch (error) {
    if (!stop.signal.aborted) throw explain(error);
  }
}

function integer(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}

function seconds(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const factor = secondsPer[unit];
  if (factor === undefined) throw new InvalidArgumentError('Expected a duration such as 30m, 24h or 7d.');
  return Number(count) * factor;
}

function time(text: string): Date {
  const value = /^\d{4}-/.test(text) ? new Date(text) : inSeconds(-seconds(text));
  if (!Number.isNaN(value.getTime())) return value;
  throw new InvalidArgumentError('Expected a time such as 2026-11-28T12:00:00Z or 2h.');
}

/** Returns a time by the clock of this machine. */
export function inSeconds(after: number): Date {
  return new Date(currentTime().getTime() + after * 1_000);
}

/** Returns whether a text is the id of a user, key or address block. */
export function isId(text: string): boolean {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text);
}

/** Returns parameters of a list that is read up to the limit. */
export function pageOf({ limit }: Options): { per_page: number; count: 'none' } {
  return { per_page: Math.min(limit, 500), count: 'none' };
}

/** Reads a list up to the limit, as a table. */
export async function list<Item extends object>(
  items: AsyncIterable<Item>,
  { limit }: Options,
  columns: readonly (keyof Item & string)[],
): Promise<Answer> {
  const found: Item[] = [];
  for await (const item of items) if (found.push(item) > limit) break;
  if (found.length > limit) note(`There are more than ${limit}: set --limit.`);
  const json = found.slice(0, limit);
  return { json, text: table(json, columns) };
}

/** Returns the only item of a list. @throws CommandError listing the items if there are several */
export function only<Item extends object>(
  items: Item[],
  id: keyof Item & string,
  what: string,
  columns: readonly (keyof Item & string)[],
): Item {
  const [first, ...others] = new Map(items.map((item) => [item[id], item])).values();
  if (first === undefined) throw new CommandError('not_found', `There is no ${what}.`);
  if (others.length === 0) return first;
  throw new CommandError('not_found', `There is more than one ${what}. Use an id:\n${table(items, columns)}`);
}
