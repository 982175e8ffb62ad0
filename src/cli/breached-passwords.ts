import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type BreachedBuild, buildBreachedFile } from '../credentials/policy/breached-build';
import { BreachedFile } from '../credentials/policy/breached-file';
import { prefixes } from '../credentials/policy/breached-filter';

const usage = `Usage: breached-passwords build <download> [--output <file>] [--min-count <count>]
       breached-passwords check <file>`;
const missingShownMax = 5;
const progressSteps = 20;

/** Builds or checks a file of breached passwords, and prints the result. */
export async function breachedPasswords(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { output: { type: 'string' }, 'min-count': { type: 'string' } },
  });
  const [action, path, ...more] = positionals;
  if (path === undefined || more.length > 0) throw new Error(usage);
  if (action === 'build') await build(path, values.output, minCountOf(values['min-count']));
  else if (action === 'check') await check(path);
  else throw new Error(usage);
}

async function build(download: string, output: string | undefined, minCount: number): Promise<void> {
  const path = resolve(output ?? `${download.replace(/\/+$/, '')}.breached`);
  let step = 0;
  const built = await buildBreachedFile(download, path, minCount, (prefix) => {
    if (prefix < ((step + 1) * prefixes) / progressSteps) return;
    step = Math.floor((prefix * progressSteps) / prefixes);
    // stdout is reserved for the result.
    console.error(`${(step * 100) / progressSteps} %`);
  });
  console.log(describe(path, built));
}

function minCountOf(text = '1'): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error('--min-count must be a whole number, at least 1');
  return Number(text);
}

function describe(path: string, { entries, missing, bytes }: BreachedBuild): string {
  const lines = [`${path} has ${entries} entries in ${bytes} bytes. Set BREACHED_PASSWORDS_FILE=${path}`];
  const shown = missing.slice(0, missingShownMax).join(', ');
  if (missing.length > 0)
    lines.push(`The download is incomplete: ${missing.length} of ${prefixes} prefixes are missing, such as ${shown}.`);
  return lines.join('\n');
}

async function check(path: string): Promise<void> {
  const file = await BreachedFile.open(path, Infinity);
  const { entries, min_count } = file.header;
  await file.close();
  console.log(`${path} is intact. It has ${entries} entries, found at least ${min_count} times each.`);
}
