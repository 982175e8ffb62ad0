import { Injectable } from '@nestjs/common';
import type { Actor } from '../../access/actor';
import { type ChallengeUse, type PasskeyAssertion, PasskeysService } from '../../credentials/factors/passkeys.service';
import { EventsService } from '../../events/events.service';
import { SecurityMailsService } from '../../user-mails/security-mails.service';

/** A response of a browser, and the challenge that it belongs to. */
export interface PasskeyProof {
  assertion: PasskeyAssertion;
  purpose: ChallengeUse['purpose'];
  /** session, or challenge of the login, that requested the options; null = none */
  context: string | null;
  /** challenge as the caller sent it; default: the challenge in the response itself */
  challenge?: string;
}

/** Result of a proof: authentication methods (RFC 8176) of the passkey, or why it was rejected. */
export type PasskeyProofResult = { amr: string[] } | { rejection: 'auth.challenge_invalid' | 'auth.passkey_unknown' };

/** Verifies passkeys, and reports passkeys that may have been cloned. */
@Injectable()
export class PasskeyProofsService {
  constructor(
    private readonly passkeys: PasskeysService,
    private readonly events: EventsService,
    private readonly mails: SecurityMailsService,
  ) {}

  /**
   * Verifies a passkey of a locked user. Commit the transaction after a rejection, too: it may
   * contain an event and a mail.
   */
  async verify(
    actor: Actor,
    { user_id, carrier_id }: { user_id: string; carrier_id: string | null },
    { assertion, purpose, context, challenge }: PasskeyProof,
  ): Promise<PasskeyProofResult> {
    // The options of a login without name do not know the user.
    const use = { purpose, context, user_id: purpose === 'login' ? null : user_id };
    const outcome = await this.passkeys.verify(user_id, assertion, use, challenge);
    if ('amr' in outcome) return outcome;
    if (outcome.rejection === 'challenge_invalid' && challenge !== undefined)
      return { rejection: 'auth.challenge_invalid' };
    if (outcome.rejection === 'counter_went_back') {
      const { factor_id, before, after } = outcome;
      const changes = { factor_id: { after: factor_id }, counter: { before, after } };
      await this.events.record(actor, 'factor.counter_went_back', { type: 'user', id: user_id, carrier_id }, changes);
      await this.mails.passkeyCounterWentBack(actor, user_id);
    }
    return { rejection: 'auth.passkey_unknown' };
  }
}
