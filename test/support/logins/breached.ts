import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/** Returns the SHA-1 of a password as published: 40 upper-case digits. */
export const sha1 = (password: string): string => createHash('sha1').update(password).digest('hex').toUpperCase();

/**
 * Returns the ranges of passwords by prefix, as published: lines `SUFFIX:COUNT`, separated by CRLF,
 * and padding with the count 0.
 * @param counts how often each password was found
 */
function rangesOf(counts: Record<string, number>): Map<string, string> {
  const ranges = new Map<string, string>();
  for (const [password, count] of Object.entries(counts)) {
    const hash = sha1(password);
    const range = ranges.get(hash.slice(0, 5)) ?? `${sha1(`padding of ${password}`).slice(5)}:0`;
    ranges.set(hash.slice(0, 5), `${range}\r\n${hash.slice(5)}:${count}`);
  }
  return ranges;
}

/** Writes a file per prefix, as the downloader of Have I Been Pwned does. */
export function writeRanges(directory: string, counts: Record<string, number>): void {
  mkdirSync(directory, { recursive: true });
  for (const [prefix, range] of rangesOf(counts)) writeFileSync(join(directory, `${prefix}.txt`), range);
}

/** Responds to a request, or leaves it open. */
export type Respond = (request: IncomingMessage, response: ServerResponse) => unknown;

/** A service with the range protocol of Have I Been Pwned on a local port. */
export class RangeServer {
  /** requests so far */
  readonly requests: IncomingMessage[] = [];
  /** responds instead of the ranges */
  instead: Respond | null = null;
  private readonly server: Server;

  private constructor(counts: Record<string, number>) {
    const ranges = rangesOf(counts);
    this.server = createServer((request, response) => {
      this.requests.push(request);
      if (this.instead !== null) return void this.instead(request, response);
      const prefix = /^\/pwned\/range\/([0-9A-F]{5})$/.exec(request.url ?? '')?.[1];
      if (prefix === undefined) return void response.writeHead(404).end();
      response.end(ranges.get(prefix) ?? `${'0'.repeat(35)}:1`);
    });
  }

  static async start(counts: Record<string, number>): Promise<RangeServer> {
    const ranges = new RangeServer(counts);
    await once(ranges.server.listen(0, '127.0.0.1'), 'listening');
    return ranges;
  }

  /** base URL of the ranges */
  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/pwned`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
