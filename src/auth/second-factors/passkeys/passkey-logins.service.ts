import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Caller, systemActorFor } from '../../../access/actor';
import { callerFor } from '../../../access/portal';
import { narrowGrant } from '../../../access/token-grant';
import { AppError } from '../../../http/errors/app-error';
import { type PasskeyProof, PasskeysService } from './passkeys.service';
import { type JsonObject, type PasskeyAssertion, readAssertion } from './passkey-responses';
import { EventsService } from '../../../audit/events.service';
import { FactorProofsService } from '../factor-proofs.service';
import { type CompletedLogin, LoginCompletionService } from '../../login/login-completion.service';
import { countOutcome } from '../../login/logins.metrics';
import { LoginsRepository } from '../../login/logins.repository';

/** Why a login was rejected. */
type Rejection = 'auth.challenge_invalid' | 'auth.passkey_unknown' | 'auth.ip_not_allowed';

/**
 * Logs users in with a passkey alone, without name and password. The passkey counts as both
 * factors, because it verifies its user. Lockouts after wrong passwords and codes do not matter.
 */
@Injectable()
export class PasskeyLoginsService {
  constructor(
    private readonly passkeys: PasskeysService,
    private readonly factorProofs: FactorProofsService,
    private readonly logins: LoginsRepository,
    private readonly completion: LoginCompletionService,
    private readonly events: EventsService,
  ) {}

  /**
   * Opens a session for the user of a passkey.
   * @throws request.invalid, auth.challenge_invalid, auth.passkey_unknown, auth.ip_not_allowed
   * @throws auth.scope_exceeded, service.overloaded
   */
  async login(challenge: string, passkey: JsonObject, caller: Caller): Promise<CompletedLogin> {
    return countOutcome(async () => {
      const assertion = readAssertion(passkey);
      const user_id = await this.passkeys.findOwner(assertion);
      if (user_id === null) throw new AppError('auth.passkey_unknown');
      const origin = callerFor(caller, caller.portal ? await this.logins.findClaimed({ user_id }) : null);
      const result = await this.factorProofs.inTurn(user_id, () =>
        this.tryLogin(user_id, challenge, assertion, origin),
      );
      if (typeof result === 'string') throw new AppError(result);
      return result;
    });
  }

  /**
   * Returns a rejection instead of throwing it, because the transaction contains its event.
   * A disabled user gets the same response as an unknown passkey.
   */
  @Transactional()
  private async tryLogin(
    user_id: string,
    challenge: string,
    assertion: PasskeyAssertion,
    caller: Caller,
  ): Promise<CompletedLogin | Rejection> {
    const actor = systemActorFor(caller);
    const lock = await this.logins.lockForLogin(user_id, undefined, caller.ip);
    const { rejection, carrier_id, locked_at: auth_time, permissions: held } = lock;
    const proof: PasskeyProof = { purpose: 'login', context: null, assertion, challenge };
    const proven = await this.passkeys.verify(actor, { user_id, carrier_id }, proof);
    const reason = 'rejection' in proven ? proven.rejection : rejection;
    if ('amr' in proven && reason === null) {
      const { asked = null } = caller;
      const login = { user_id, counter: null, renewal: null, amr: proven.amr, auth_time, held };
      return this.completion.complete({ ...login, grant: asked && narrowGrant(asked, asked, held) }, caller);
    }
    const changes = { reason: { after: reason } };
    await this.events.record(actor, 'login.failed', { id: user_id, carrier_id }, changes);
    return reason === null || reason === 'auth.invalid_credentials' ? 'auth.passkey_unknown' : reason;
  }
}
