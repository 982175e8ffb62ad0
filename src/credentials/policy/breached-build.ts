import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readDownload } from './breached-download';
import { createFilter, createHeader, filtersAt, hashBytes, prefixes, unit } from './breached-filter';

/** What a build wrote. */
export interface BreachedBuild {
  /** number of entries */
  entries: number;
  /** prefixes of which the download has no line, as published, such as `0A1B2` */
  missing: string[];
  /** size of the file */
  bytes: number;
}

/** Bytes of filters that are written at once. */
const batchBytes = 2 ** 20;

/**
 * Builds a file of breached passwords from a download (`readDownload`).
 * Replaces an existing file when the new file is complete and on the disk; a running service keeps
 * the old one open.
 * @param onPrefix called after each prefix
 * @throws DownloadError
 */
export async function buildBreachedFile(
  download: string,
  path: string,
  min_count: number,
  onPrefix: (prefix: number) => void,
): Promise<BreachedBuild> {
  const partial = `${path}.${process.pid}.partial`;
  const file = await open(partial, 'wx');
  try {
    const built = await write(file, download, min_count, onPrefix);
    await file.sync();
    await rename(partial, path);
    await syncDirectory(dirname(path));
    return built;
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

async function write(
  file: FileHandle,
  download: string,
  min_count: number,
  onPrefix: (prefix: number) => void,
): Promise<BreachedBuild> {
  const filters = new FilterWriter(file);
  const missing: string[] = [];
  let entries = 0;
  let next = 0;
  for await (const { prefix, hashes } of readDownload(download, min_count)) {
    while (next < prefix) missing.push(nameOf(next++));
    next = prefix + 1;
    entries += hashes.length / hashBytes;
    await filters.add(prefix, createFilter(hashes));
    onPrefix(prefix);
  }
  if (entries === 0) throw new Error(`${download} contains no entries`);
  while (next < prefixes) missing.push(nameOf(next++));
  const index = await filters.finish();
  await writeAt(file, Buffer.concat([createHeader({ entries, min_count }, index), index]), 0);
  return { entries, missing, bytes: filters.end };
}

function nameOf(prefix: number): string {
  return prefix.toString(16).toUpperCase().padStart(5, '0');
}

/** Writes filters one after the other, and notes in the index where each begins. */
class FilterWriter {
  /** position behind the last filter */
  end = filtersAt;
  private readonly index = Buffer.alloc((prefixes + 1) * 4);
  /** first prefix that is not in the index */
  private next = 0;
  private batch: Buffer[] = [];
  private written = filtersAt;

  constructor(private readonly file: FileHandle) {}

  async add(prefix: number, filter: Buffer): Promise<void> {
    this.fillIndex(prefix);
    this.batch.push(filter);
    this.end += filter.length;
    if (this.end - this.written >= batchBytes) await this.flush();
  }

  /** Returns the index. */
  async finish(): Promise<Buffer> {
    this.fillIndex(prefixes);
    await this.flush();
    return this.index;
  }

  private fillIndex(last: number): void {
    const position = (this.end - filtersAt) / unit;
    while (this.next <= last) this.index.writeUInt32LE(position, this.next++ * 4);
  }

  private async flush(): Promise<void> {
    await writeAt(this.file, Buffer.concat(this.batch), this.written);
    this.written = this.end;
    this.batch = [];
  }
}

async function writeAt(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;)
    done += (await file.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
}

/** Makes a rename durable. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path);
  await directory.sync().finally(() => directory.close());
}
