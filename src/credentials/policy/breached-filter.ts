/**
 * The format of a file of breached passwords: a header, an index, and a Bloom filter for each of
 * the 1,048,576 prefixes (the first 20 bits of a SHA-1).
 *
 * A lookup reads one filter. A filter has the size that its own entries need, so false positives
 * are as rare as in one large Bloom filter. The last four bytes of a filter are its CRC-32.
 * Integers are little-endian.
 *
 * | bytes | content |
 * |---|---|
 * | 0–15 | `carrier-breached` |
 * | 16–19 | version of the format, 1 |
 * | 20–23 | minimum count of the build |
 * | 24–31 | number of entries |
 * | 32–35 | CRC-32 of the index |
 * | 36–39 | CRC-32 of bytes 0–35 |
 * | 64–4,194,371 | index: where each filter starts and the last one ends, in units of 64 bytes |
 * | from 4,194,432 | the filters |
 */
import { crc32 } from 'node:zlib';

/** Describes the entries of a file. */
export interface BreachedHeader {
  /** number of entries */
  entries: number;
  /** only passwords that were found at least this many times are entries */
  min_count: number;
}

/** Bytes of a SHA-1. */
export const hashBytes = 20;
/** Number of prefixes. */
export const prefixes = 2 ** 20;
/** Bytes of a unit. Each filter has a whole number of units. */
export const unit = 64;
/** Bytes before the index. */
export const headerBytes = 64;
/** Bytes before the first filter. */
export const filtersAt = Math.ceil((headerBytes + (prefixes + 1) * 4) / unit) * unit;

const magic = 'carrier-breached';
const version = 1;
const checksumBytes = 4;
/**
 * With 20 bits per entry and 14 positions, (1 − e^(−14/20))^14 = 1 in 15,000 other passwords is
 * found (test: breached-filter.spec.ts).
 */
const bitsPerEntry = 20;
const positionsPerEntry = 14;

/** Returns the header of a file. */
export function createHeader({ entries, min_count }: BreachedHeader, index: Buffer): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.write(magic, 'latin1');
  header.writeUInt32LE(version, 16);
  header.writeUInt32LE(min_count, 20);
  header.writeBigUInt64LE(BigInt(entries), 24);
  header.writeUInt32LE(crc32(index), 32);
  header.writeUInt32LE(crc32(header.subarray(0, 36)), 36);
  return header;
}

/** Returns whether a header is one of this version of the format, and its checksum is right. */
export function isHeaderIntact(header: Buffer): boolean {
  const isKnown = header.toString('latin1', 0, magic.length) === magic && header.readUInt32LE(16) === version;
  return isKnown && crc32(header.subarray(0, 36)) === header.readUInt32LE(36);
}

/** Reads an intact header. */
export function readHeader(header: Buffer): BreachedHeader {
  return { entries: Number(header.readBigUInt64LE(24)), min_count: header.readUInt32LE(20) };
}

/** Returns whether an index belongs to an intact header. */
export function isIndexIntact(header: Buffer, index: Buffer): boolean {
  return crc32(index) === header.readUInt32LE(32);
}

/** Returns the prefix of a SHA-1. */
export function prefixOf(hash: Buffer): number {
  return hash.readUIntBE(0, 3) >>> 4;
}

/**
 * Returns the filter of one prefix.
 * @param hashes SHA-1s of 20 bytes each; none = an empty filter
 */
export function createFilter(hashes: Buffer): Buffer {
  const entries = hashes.length / hashBytes;
  if (entries === 0) return Buffer.alloc(0);
  const filter = Buffer.alloc(Math.ceil((entries * bitsPerEntry) / 8 / unit + checksumBytes / unit) * unit);
  for (let at = 0; at < hashes.length; at += hashBytes) {
    eachPosition(hashes.subarray(at, at + hashBytes), filter, (byte, bit) => {
      filter[byte] = (filter[byte] ?? 0) | bit;
      return true;
    });
  }
  filter.writeUInt32LE(crc32(filter.subarray(0, -checksumBytes)), filter.length - checksumBytes);
  return filter;
}

/** Returns whether the checksum of a filter is right. */
export function isFilterIntact(filter: Buffer): boolean {
  if (filter.length === 0) return true;
  return crc32(filter.subarray(0, -checksumBytes)) === filter.readUInt32LE(filter.length - checksumBytes);
}

/** Returns whether a SHA-1 is probably an entry of a filter. False is certain. */
export function filterHas(filter: Buffer, hash: Buffer): boolean {
  if (filter.length === 0) return false;
  return eachPosition(hash, filter, (byte, bit) => ((filter[byte] ?? 0) & bit) !== 0);
}

/**
 * Visits the positions of a SHA-1 until the visitor returns false. Returns whether it never did.
 * The 128 bits after the prefix are the seed of a generator (sfc32 of PractRand), because small
 * filters need positions that do not depend on each other.
 */
function eachPosition(hash: Buffer, filter: Buffer, visit: (byte: number, bit: number) => boolean): boolean {
  const bits = (filter.length - checksumBytes) * 8;
  let a = hash.readInt32LE(4);
  let b = hash.readInt32LE(8);
  let c = hash.readInt32LE(12);
  let counter = hash.readInt32LE(16);
  for (let count = 0; count < positionsPerEntry; count++) {
    const random = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + random) | 0;
    const position = Math.floor(((random >>> 0) * bits) / 2 ** 32);
    if (!visit(position >>> 3, 1 << (position & 7))) return false;
  }
  return true;
}
