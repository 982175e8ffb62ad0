import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hashBytes } from './breached-filter';

/** The entries of one prefix of a download. */
export interface PrefixEntries {
  prefix: number;
  /** SHA-1s of 20 bytes each */
  hashes: Buffer;
}

/** Reports a line that is not as published, with its file and number. */
export class DownloadError extends Error {}

const hashDigits = hashBytes * 2;
const rangeFile = /^([0-9a-f]{5})(\.txt)?$/i;
const blockBytes = 2 ** 20;
/** Longer than any line: 40 digits, a colon, a count and a line break. */
const lineMax = 80;
/** The real list has about 1,000 entries per prefix. */
const entriesPerPrefixMax = 2 ** 20;
const newLine = 0x0a;
const carriageReturn = 0x0d;
const colon = 0x3a;
/** Value of each hexadecimal digit by its character code; -1 for all other characters. */
const digitOf = Int8Array.from({ length: 256 }, (_, code) => '0123456789abcdef'.indexOf(lower(code)));

/**
 * Reads a download of the range format, prefix by prefix in ascending order: a directory with a
 * file `<PREFIX>.txt` of lines `SUFFIX:COUNT` per prefix, or one file of lines `SHA1:COUNT` in the
 * order of the hashes. Needs memory for one prefix.
 * @param minCount skips passwords that were found less often. The padding of responses has count 0
 * @throws DownloadError at a malformed line
 */
export async function* readDownload(path: string, minCount: number): AsyncGenerator<PrefixEntries> {
  if ((await stat(path)).isDirectory()) yield* readDirectory(path, minCount);
  else yield* readFile(path, '', minCount);
}

async function* readDirectory(path: string, minCount: number): AsyncGenerator<PrefixEntries> {
  const files = (await readdir(path)).flatMap((name) => {
    const start = rangeFile.exec(name)?.[1];
    return start === undefined ? [] : [{ name, start, prefix: parseInt(start, 16) }];
  });
  files.sort((a, b) => a.prefix - b.prefix);
  for (const [index, { name, start, prefix }] of files.entries()) {
    const next = files[index + 1];
    if (next?.prefix === prefix) throw new DownloadError(`${path} has two files of one prefix: ${name}, ${next.name}`);
    yield* readFile(join(path, name), start, minCount);
  }
}

/** @param start digits that all lines of the file have in common and leave out */
async function* readFile(path: string, start: string, minCount: number): AsyncGenerator<PrefixEntries> {
  const parser = new LineParser(start, minCount);
  let entries = new EntryList();
  let prefix = start === '' ? -1 : parseInt(start, 16);
  let line = 0;
  const fault = (text: string) => new DownloadError(`${path}, line ${line}: ${text}`);
  for await (const block of wholeLines(path)) {
    for (let at = 0; at < block.length;) {
      const found = block.indexOf(newLine, at);
      const end = found < 0 ? block.length : found;
      line++;
      const kept = parser.parse(block, at, end);
      at = end + 1;
      if (kept === null) throw fault(`expected ${hashDigits - start.length} hexadecimal digits, a colon and a count`);
      if (parser.prefix < prefix) throw fault('the lines are not in the order of the hashes');
      if (parser.prefix > prefix) {
        if (prefix >= 0) yield { prefix, hashes: entries.hashes };
        [entries, prefix] = [new EntryList(), parser.prefix];
      }
      if (kept && !entries.add(parser.hash)) throw fault(`the prefix has more than ${entriesPerPrefixMax} entries`);
    }
  }
  if (line > 0) yield { prefix, hashes: entries.hashes };
}

/** Reads a file in blocks that end at the end of a line. */
async function* wholeLines(path: string): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for await (const chunk of createReadStream(path, { highWaterMark: blockBytes }) as AsyncIterable<Buffer>) {
    const end = chunk.lastIndexOf(newLine) + 1;
    if (end > 0) yield Buffer.concat([rest, chunk.subarray(0, end)]);
    rest = end > 0 ? Buffer.from(chunk.subarray(end)) : Buffer.concat([rest, chunk]);
    // Such a line is malformed. Its beginning is enough to say so.
    if (rest.length > lineMax) break;
  }
  if (rest.length > 0) yield rest;
}

/** Parses lines without creating texts: a download has up to two billion lines. */
class LineParser {
  /** hash of the last line; overwritten by the next one */
  readonly hash = Buffer.alloc(hashBytes);
  private readonly digits = new Uint8Array(hashDigits);

  constructor(
    private readonly start: string,
    private readonly minCount: number,
  ) {
    for (const [index, digit] of [...start].entries()) this.digits[index] = parseInt(digit, 16);
  }

  /** Prefix of the last line. */
  get prefix(): number {
    return this.hash.readUIntBE(0, 3) >>> 4;
  }

  /** Returns whether the line is an entry that is kept, or null if it is malformed. */
  parse(block: Buffer, from: number, to: number): boolean | null {
    const end = block[to - 1] === carriageReturn ? to - 1 : to;
    const colonAt = from + hashDigits - this.start.length;
    if (colonAt >= end - 1 || block[colonAt] !== colon) return null;
    for (let at = from, digit = this.start.length; at < colonAt; at++, digit++) {
      const value = digitOf[block[at] ?? 0] ?? -1;
      if (value < 0) return null;
      this.digits[digit] = value;
    }
    for (let byte = 0; byte < hashBytes; byte++)
      this.hash[byte] = ((this.digits[byte * 2] ?? 0) << 4) | (this.digits[byte * 2 + 1] ?? 0);
    const count = countIn(block, colonAt + 1, end);
    return count === null ? null : count >= this.minCount;
  }
}

function countIn(block: Buffer, from: number, to: number): number | null {
  let count = 0;
  for (let at = from; at < to; at++) {
    const value = digitOf[block[at] ?? 0] ?? -1;
    if (value < 0 || value > 9) return null;
    count = count * 10 + value;
  }
  return Number.isSafeInteger(count) ? count : null;
}

function lower(code: number): string {
  return String.fromCharCode(code).toLowerCase();
}

/** A growing list of hashes. */
class EntryList {
  size = 0;
  private buffer = Buffer.alloc(2_048 * hashBytes);

  get hashes(): Buffer {
    return this.buffer.subarray(0, this.size * hashBytes);
  }

  /** Returns false if the list is full. */
  add(hash: Buffer): boolean {
    if (this.size === entriesPerPrefixMax) return false;
    const at = this.size++ * hashBytes;
    if (at === this.buffer.length) this.buffer = Buffer.concat([this.buffer, Buffer.alloc(at)]);
    hash.copy(this.buffer, at);
    return true;
  }
}
