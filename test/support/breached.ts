import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns the SHA-1 of a password as published: 40 upper-case digits. */
export const sha1 = (password: string): string => createHash('sha1').update(password).digest('hex').toUpperCase();

/**
 * Writes a download with a file per prefix, as published: lines `SUFFIX:COUNT`, ended by CRLF, and
 * padding with the count 0.
 * @param counts how often each password was found
 */
export function writeRanges(directory: string, counts: Record<string, number>): void {
  mkdirSync(directory, { recursive: true });
  const ranges = new Map<string, string[]>();
  for (const [password, count] of Object.entries(counts)) {
    const hash = sha1(password);
    const lines = ranges.get(hash.slice(0, 5)) ?? [`${sha1(`padding of ${password}`).slice(5)}:0`];
    ranges.set(hash.slice(0, 5), [...lines, `${hash.slice(5)}:${count}`]);
  }
  for (const [prefix, lines] of ranges) writeFileSync(join(directory, `${prefix}.txt`), lines.join('\r\n'));
}

/** Writes a download of one file: lines `SHA1:COUNT` in the order of the hashes. */
export function writeSorted(file: string, counts: Record<string, number>): void {
  const lines = Object.entries(counts).map(([password, count]) => `${sha1(password)}:${count}\n`);
  writeFileSync(file, lines.sort().join(''));
}
