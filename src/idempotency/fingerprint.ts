import { canonicalJson } from '../common/canonical-json';
import { UploadedFile } from '../common/http/upload';
import { createKeyedHash } from '../common/random';

/**
 * What makes two requests the same: query parameters and body. Keyed, since a body may hold a
 * password, and a plain hash of it could be guessed offline far faster than Argon2id allows (OWASP
 * ASVS 11.4.2).
 */
export class Fingerprint {
  private digest: Buffer | null = null;
  private readonly file: UploadedFile | null = null;

  /** @param body as parsed, or an uploaded file, which is hashed while the handler reads it */
  constructor(key: Buffer, query: unknown, body: unknown) {
    const hash = createKeyedHash(key).update(`${canonicalJson(query)}\n`);
    if (!(body instanceof UploadedFile)) {
      this.digest = hash.update(canonicalJson(body)).digest();
      return;
    }
    this.file = body;
    body.watch(
      (chunk) => hash.update(chunk),
      () => (this.digest = hash.digest()),
    );
  }

  /** null as long as a streamed body has not been read to its end */
  get known(): Buffer | null {
    return this.digest;
  }

  /**
   * Reads and discards the rest of an uploaded file.
   * @throws Error if it breaks off or is too large
   */
  async complete(): Promise<Buffer> {
    if (this.digest === null && this.file !== null) for await (const chunk of this.file.read()) void chunk;
    if (this.digest === null) throw new Error('the body broke off');
    return this.digest;
  }
}
