import { Readable } from 'node:stream';
import { canonicalJson } from '../common/canonical-json';
import { createKeyedHash } from '../common/random';

/**
 * What makes two requests the same: query parameters and body. Keyed, since a body may hold a password, and a plain hash of it could be guessed
 * offline far faster than Argon2id allows (OWASP ASVS 11.4.2).
 */
export class Fingerprint {
  private digest: Buffer | null = null;
  private readonly stream: Readable | null = null;

  /** @param body as parsed, or the stream of it. A stream is left to whoever reads it: what they read is hashed on the way. */
  constructor(key: Buffer, query: unknown, body: unknown) {
    const hash = createKeyedHash(key).update(`${canonicalJson(query)}\n`);
    if (!(body instanceof Readable)) {
      this.digest = hash.update(canonicalJson(body)).digest();
      return;
    }
    this.stream = body;
    // a listener alone would let it flow before anybody reads it
    body.on('data', (chunk: Buffer) => hash.update(chunk)).pause();
    body.once('end', () => (this.digest = hash.digest()));
  }

  /** null as long as a streamed body has not been read to its end */
  get known(): Buffer | null {
    return this.digest;
  }

  /** Reads what nobody has read of a streamed body, keeping nothing of it. @throws when it breaks off */
  async complete(): Promise<Buffer> {
    if (this.digest === null && this.stream !== null)
      for await (const chunk of this.stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) void chunk;
    if (this.digest === null) throw new Error('the body broke off');
    return this.digest;
  }
}
