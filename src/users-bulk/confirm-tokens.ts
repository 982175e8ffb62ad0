import { type Actor, identityOf } from '../access/actor';
import { canonicalJson } from '../common/canonical-json';
import { invalid } from '../common/errors/app-error';
import { deriveKey, newId } from '../common/random';
import { Signer } from '../common/signer';

/** The users that a preview has shown: how many, and a digest of their ids under a seed. */
export interface FoundSet {
  count: number;
  digest: string;
}

/** A preview that is confirmed. */
export interface Confirmation extends FoundSet {
  /** each preview can be confirmed once; also the seed of the digest */
  confirm_id: string;
  /** milliseconds since 1970 */
  expires_at: number;
}

/** What a preview and its confirmation must have in common. */
export interface Previewed {
  actor: Actor;
  kind: string;
  filters: Record<string, string>;
  change: unknown;
}

/**
 * Confirm tokens: what a preview has shown, signed and bound to caller, method, filters and body,
 * so that nothing has to be kept. That it is used once is kept with the operation that used it.
 */
export class ConfirmTokens {
  private readonly signer: Signer;

  constructor(secret: string) {
    this.signer = new Signer(deriveKey(secret, 'confirm token'));
  }

  /** A new seed, which becomes the id of the confirmation. */
  newSeed(): string {
    return newId();
  }

  mint({ confirm_id, expires_at, count, digest }: Confirmation, previewed: Previewed): string {
    return this.signer.sign([confirm_id, expires_at, count, digest], contextOf(previewed));
  }

  /**
   * @throws request.invalid when the token is none of ours, or of another caller, method, filter or
   * body
   */
  read(token: string, previewed: Previewed): Confirmation {
    const read = this.signer.open<[string, number, number, string]>(token, contextOf(previewed));
    if (read === null)
      throw invalid({
        parameter: 'confirm_token',
        code: 'parameter.malformed',
        detail: 'is not that of a preview of this very request',
      });
    const [confirm_id, expires_at, count, digest] = read;
    return { confirm_id, expires_at, count, digest };
  }
}

function contextOf({ actor, kind, filters, change }: Previewed): string {
  return canonicalJson([identityOf(actor), kind, filters, change]);
}
