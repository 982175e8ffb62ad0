import { type FileHandle, open } from 'node:fs/promises';
import { monotonicMs } from '../../common/clock';
import {
  type BreachedHeader,
  filterHas,
  filtersAt,
  headerBytes,
  isFilterIntact,
  isHeaderIntact,
  isIndexIntact,
  prefixes,
  prefixOf,
  readHeader,
  unit,
} from './breached-filter';

/** Bytes of filters that a check of the whole file reads at once. */
const batchBytes = 4 * 2 ** 20;

/** Reports a file that is missing or damaged. */
export class BreachedFileError extends Error {}

/**
 * An open file of breached passwords. Keeps the index in memory (4 MiB), and reads one filter from
 * the disk for each lookup.
 */
export class BreachedFile {
  private constructor(
    private readonly file: FileHandle,
    private readonly index: Buffer,
    /** describes the entries */
    readonly header: BreachedHeader,
  ) {}

  /**
   * Opens a file, and checks its header, its index, its size and as many filters as possible in the
   * given time. `has` checks each other filter when it reads it.
   * @throws BreachedFileError
   */
  static async open(path: string, checkMs: number): Promise<BreachedFile> {
    const file = await open(path).catch((error: NodeJS.ErrnoException) => {
      throw new BreachedFileError(`the file cannot be opened (${error.code})`);
    });
    try {
      const opened = await BreachedFile.read(file);
      await opened.check(monotonicMs() + checkMs);
      return opened;
    } catch (error) {
      await file.close();
      const { code } = error as NodeJS.ErrnoException;
      throw code === undefined ? error : new BreachedFileError(`the file cannot be read (${code})`);
    }
  }

  private static async read(file: FileHandle): Promise<BreachedFile> {
    const header = await readAt(file, 0, headerBytes);
    if (!isHeaderIntact(header)) throw damaged();
    const index = await readAt(file, headerBytes, (prefixes + 1) * 4);
    if (!isIndexIntact(header, index)) throw damaged();
    const { size } = await file.stat();
    if (size !== filtersAt + startOf(index, prefixes)) throw damaged();
    return new BreachedFile(file, index, readHeader(header));
  }

  /**
   * Returns whether a SHA-1 is probably an entry: of 15,000 others, one is found.
   * @throws BreachedFileError if the filter is damaged
   */
  async has(hash: Buffer): Promise<boolean> {
    const prefix = prefixOf(hash);
    const filter = await this.filtersFrom(prefix, prefix + 1);
    if (!isFilterIntact(filter)) throw damaged();
    return filterHas(filter, hash);
  }

  /** Closes the file. */
  close(): Promise<void> {
    return this.file.close();
  }

  private async check(deadline: number): Promise<void> {
    for (let first = 0; first < prefixes && monotonicMs() < deadline;) {
      const start = startOf(this.index, first);
      let end = first + 1;
      while (end < prefixes && startOf(this.index, end + 1) - start <= batchBytes) end++;
      const filters = await this.filtersFrom(first, end);
      for (; first < end; first++) {
        const filter = filters.subarray(startOf(this.index, first) - start, startOf(this.index, first + 1) - start);
        if (!isFilterIntact(filter)) throw damaged();
      }
    }
  }

  private filtersFrom(first: number, end: number): Promise<Buffer> {
    const start = startOf(this.index, first);
    return readAt(this.file, filtersAt + start, startOf(this.index, end) - start);
  }
}

function startOf(index: Buffer, prefix: number): number {
  return index.readUInt32LE(prefix * 4) * unit;
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  if (bytesRead < length) throw damaged();
  return buffer;
}

function damaged(): BreachedFileError {
  return new BreachedFileError('the file is damaged, or was not made by `breached-passwords build`');
}
