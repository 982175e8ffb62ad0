import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { monotonicMs } from '../../../platform/clock';
import { CONFIG, type Config } from '../../../platform/config/config';
import { breachedLookups } from '../credentials.metrics';

/** Maximum time of a request, including the time to connect and to read the range. */
const requestMs = 1_000;
/** Maximum bytes of a range. The ranges of Have I Been Pwned have about 80 kB. */
const rangeMax = 262_144;
const warnEveryMs = 60_000;
/** Digits of a SHA-1 that name a range. Its lines have the other 35. */
const prefixDigits = 5;
const lineFormat = /^[0-9A-F]{35}:\d+$/i;

/**
 * Looks up passwords in `BREACHED_PASSWORDS`: a service with the range protocol of Have I Been
 * Pwned, or a folder with its ranges.
 * A service learns five of the 40 digits of the SHA-1, and nothing about the user (P18).
 * @see https://haveibeenpwned.com/API/v3#PwnedPasswords
 */
@Injectable()
export class BreachedPasswords {
  private readonly logger = new Logger(BreachedPasswords.name);
  private silentUntil = 0;

  constructor(@Inject(CONFIG) private readonly config: Config) {}

  /**
   * Returns whether a password is known to attackers, or null if the lookup failed: passwords and
   * logins must not depend on another service (P19). Returns false if lookups are off.
   * Waits for the service up to a second: never call it in a transaction.
   */
  async has(password: string): Promise<boolean | null> {
    const { BREACHED_PASSWORDS: source } = this.config;
    if (source === undefined) return false;
    // SHA-1 is the format of the published lists. The service stores no such hash.
    const hash = createHash('sha1').update(password).digest('hex').toUpperCase();
    const [prefix, suffix] = [hash.slice(0, prefixDigits), hash.slice(prefixDigits)];
    try {
      const range = await (isAbsolute(source) ? readRange(source, prefix) : requestRange(source, prefix));
      const isBreached = contains(range, suffix);
      breachedLookups.inc({ outcome: isBreached ? 'breached' : 'not_found' });
      return isBreached;
    } catch (error) {
      breachedLookups.inc({ outcome: 'failed' });
      this.warn(reasonOf(error));
      return null;
    }
  }

  private warn(reason: string): void {
    if (monotonicMs() < this.silentUntil) return;
    this.silentUntil = monotonicMs() + warnEveryMs;
    this.logger.warn(`breached passwords: lookups fail (${reason}), so only the other rules apply to passwords`);
  }
}

/** Requests a range with padding, so that the size of the response does not reveal the range. */
async function requestRange(url: string, prefix: string): Promise<string> {
  const { ok, status, body } = await fetch(`${url}/range/${prefix}`, {
    headers: { 'add-padding': 'true', 'user-agent': 'carrier-identity' },
    redirect: 'error',
    signal: AbortSignal.timeout(requestMs),
  });
  if (!ok || body === null) throw new Error(`status ${status}`);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Counts the bytes after decompression.
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > rangeMax) throw new Error('the range is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('latin1');
}

/** Reads `00000.txt` to `FFFFF.txt`, as the downloader writes them, or files without `.txt`. */
function readRange(folder: string, prefix: string): Promise<string> {
  const path = join(folder, prefix);
  return readFile(`${path}.txt`, 'latin1').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return readFile(path, 'latin1');
  });
}

/** @throws if the text is no range, such as a page or an incomplete file */
function contains(range: string, suffix: string): boolean {
  const lines = range.trimEnd().split(/\r?\n/);
  if (!lines.every((line) => lineFormat.test(line))) throw new Error('the response is no range');
  // Padding has the count 0.
  return lines.some((line) => line.toUpperCase().startsWith(suffix) && !/:0+$/.test(line));
}

/** Returns a code, or a text of this file: the message of a system error may name the range. */
function reasonOf(error: unknown): string {
  const { cause = error } = error as Error;
  const { code, message } = cause as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : message;
}
