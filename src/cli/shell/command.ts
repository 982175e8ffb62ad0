import type { Identity } from '@carrier-identity/client';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { currentTime } from '../../platform/clock';
import { CommandError } from '../command-error';
import { type Answer, note, print, table } from './output';

/** Options of all commands. Each command has some of them. */
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

/** A command that calls the API. */
export interface ShellCommand {
  /** its words and arguments: `user find <text>` */
  usage: string;
  description: string;
  /** arguments of an example */
  example: string;
  options?: Option[];
  /** API keys are rejected: the command needs the access token of a user */
  needsUser?: true;
  /** Returns one result, or yields results without end. */
  run(shell: Shell, ...args: string[]): Promise<Answer> | AsyncIterable<Answer>;
}

const units = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;
const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Options that several commands have. */
export const common = {
  limit: new Option('--limit <rows>', 'maximum number of rows').argParser(integer(1, 10_000)).default(50),
  since: new Option(
    '--since <time>',
    'begin at a time (2026-11-28T12:00:00Z) or some time ago (30m, 2h, 7d)',
  ).argParser((text) =>
    /^\d+[smhd]$/.test(text) ? new Date(currentTime().getTime() - seconds(text) * 1_000) : time(text),
  ),
  type: new Option('--type <types>', 'only these types, separated by commas').argParser((text) => text.split(',')),
  yes: new Option('--yes', 'do not ask'),
};

/** Parses a whole number. */
export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}

/** Parses a duration such as 30m, as seconds. */
export function seconds(text: string): number {
  const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  if (unit === undefined) throw new InvalidArgumentError('Expected a duration such as 30m, 24h or 7d.');
  return Number(count) * units[unit as keyof typeof units];
}

function time(text: string): Date {
  const value = new Date(text);
  if (/^\d{4}-/.test(text) && !Number.isNaN(value.getTime())) return value;
  throw new InvalidArgumentError('Expected a time such as 2026-11-28T12:00:00Z or 2h.');
}

/** Returns whether a text is the id of a user, session, key or operation. */
export function isId(text: string): boolean {
  return uuid.test(text);
}

/** Returns parameters of a list that is read up to the limit. */
export function pageOf({ limit }: Options): { per_page: number; count: 'none' } {
  return { per_page: Math.min(limit, 500), count: 'none' };
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

/** Reads a list up to the limit, as a table. */
export async function list<Item extends object>(
  items: AsyncIterable<Item>,
  { limit }: Options,
  columns: readonly (keyof Item & string)[],
): Promise<Answer> {
  const found: Item[] = [];
  for await (const item of items) {
    if (found.length === limit) {
      note(`There are more than ${limit}: set --limit.`);
      break;
    }
    found.push(item);
  }
  return { json: found, text: table(found, columns) };
}

/** Adds a command to the program, below the group that its first word names. */
export function addCommand(program: Command, command: ShellCommand, groups: Record<string, string>): void {
  const [noun = '', verb = '', ...parameters] = command.usage.split(' ');
  const group =
    program.commands.find((one) => one.name() === noun) ?? program.command(noun).description(groups[noun] ?? '');
  const added = group.command([verb, ...parameters].join(' ')).description(command.description);
  for (const option of command.options ?? []) added.addOption(option);
  const needs = command.needsUser ? '\nAPI keys cannot do this: set IDENTITY_KEY to the access token of a user.\n' : '';
  added
    .option('--json', 'print JSON')
    .option('--key-file <file>', 'read the API key or access token from a file')
    .addHelpText('after', `${needs}\nExample:\n  ${program.name()} ${noun} ${verb} ${command.example}`.trimEnd())
    .action(async () => {
      const args = added.args;
      const wrong = parameters.findIndex((name, index) => /_id[>\]]$/.test(name) && !isId(args[index] ?? exampleId));
      if (wrong >= 0) throw new CommandError('usage', `${parameters[wrong]} is an id such as ${exampleId}.`);
      await run(command, added.opts<Options>(), args);
    });
}

const exampleId = '0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70';

async function run(command: ShellCommand, options: Options, args: string[]): Promise<void> {
  const { connect, explain } = await import('./api.js');
  const stop = new AbortController();
  // `| head` has read enough.
  process.stdout.on('error', () => process.exit(0));
  try {
    const asJson = options.json === true;
    const result = command.run({ identity: connect(options.keyFile), options, signal: stop.signal }, ...args);
    if (result instanceof Promise) return print(await result, asJson, false);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
    for await (const line of result) print(line, asJson, true);
  } catch (error) {
    if (!stop.signal.aborted) throw explain(error, command.needsUser);
  }
}
