import { canonicalJson } from '../../platform/canonical-json';
import { UploadedFile } from '../bodies/upload';
import { createKeyedHash } from '../../platform/random';

/**
 * Identifies a request by a keyed hash of its query parameters and its body.
 * Keyed, because a body may contain a password: a plain hash could be guessed offline much faster
 * than an Argon2id hash (OWASP ASVS 11.4.2).
 */
export class Fingerprint {
  private digest: Buffer | null = null;
  private readonly file: UploadedFile | null = null;

  /** @param body the parsed body, or an uploaded file that is hashed while the handler reads it */
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

  /** the hash, or null until a streamed body has been read completely */
  get known(): Buffer | null {
    return this.digest;
  }

  /**
   * Returns the hash. Reads and discards the rest of an uploaded file.
   * @throws Error if the upload is aborted or too large
   */
  async complete(): Promise<Buffer> {
    if (this.digest === null && this.file !== null) for await (const chunk of this.file.read()) void chunk;
    if (this.digest === null) throw new Error('the body is incomplete');
    return this.digest;
  }
}
