import { type Actor, identityOf } from '../../access/actor';
import { canonicalJson } from '../../platform/canonical-json';
import { invalid } from '../../http/errors/app-error';
import { deriveKey } from '../../platform/random';
import { Signer } from '../../platform/signer';

/** A preview that a request confirms. */
export interface Confirmation {
  /** id of the confirmation, which can be used once; also the seed of the digest */
  confirm_id: string;
  /** milliseconds since 1970 */
  expires_at: number;
  /** number of users that the preview showed */
  count: number;
  /** digest of their ids */
  digest: string;
}

/** The parts of a request that must be identical in a preview and its confirmation. */
export interface PreviewedRequest {
  actor: Actor;
  kind: string;
  filters: Record<string, string>;
  change: unknown;
}

/**
 * Signs and verifies the confirm tokens of previews. A token is bound to caller, method, filters
 * and body, and is not stored. The operation that uses a token stores the id of the token, which is
 * unique, so a token works once.
 */
export class ConfirmTokens {
  private readonly signer: Signer;

  constructor(secret: string) {
    this.signer = new Signer(deriveKey(secret, 'confirm token'));
  }

  /** Signs a token for the confirmation of a preview. */
  mint({ confirm_id, expires_at, count, digest }: Confirmation, previewed: PreviewedRequest): string {
    return this.signer.sign([confirm_id, expires_at, count, digest], contextOf(previewed));
  }

  /**
   * Verifies a token, but not its expiry.
   * @throws request.invalid if the token is not from a preview of the same request
   */
  read(token: string, previewed: PreviewedRequest): Confirmation {
    const read = this.signer.open<[string, number, number, string]>(token, contextOf(previewed));
    if (read === null)
      throw invalid({
        parameter: 'confirm_token',
        code: 'parameter.malformed',
        detail: 'must be the token of a preview with the same caller, method, filters and body',
      });
    const [confirm_id, expires_at, count, digest] = read;
    return { confirm_id, expires_at, count, digest };
  }
}

function contextOf({ actor, kind, filters, change }: PreviewedRequest): string {
  return canonicalJson([identityOf(actor), kind, filters, change]);
}
