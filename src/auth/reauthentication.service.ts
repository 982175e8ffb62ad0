import { Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { AppError, invalid } from '../common/errors/app-error';
import { readAssertion } from '../credentials/factors/passkeys.service';
import { LiveLoginsService } from '../logins/live-logins.service';
import { type ReauthenticationProof, SessionProofsService } from '../logins/session-proofs.service';
import { AccessTokens } from './access-tokens';
import { onlyProofOf } from './only-one';
import type { ReauthenticateRequest, ReauthenticateResponse } from './second-factor.dto';
import { newAccessToken } from './token-response';

/** Authenticates users again in their session. */
@Injectable()
export class ReauthenticationService {
  constructor(
    private readonly proofs: SessionProofsService,
    private readonly logins: LiveLoginsService,
    private readonly tokens: AccessTokens,
  ) {}

  /**
   * Renews `auth_time` of the actor's session, and returns a new access token.
   * @throws request.invalid unless the request has exactly one proof that the user may use
   * @throws auth.wrong_current_password, auth.invalid_second_factor
   * @throws auth.passkey_unknown, auth.challenge_invalid
   * @throws auth.too_many_attempts, service.overloaded
   */
  async reauthenticate(actor: Actor, request: ReauthenticateRequest): Promise<ReauthenticateResponse> {
    const { session_id, user_id } = actor;
    const proof = proofOf(request, session_id);
    const login = session_id === null ? null : await this.logins.find(session_id, user_id);
    if (session_id === null || login === null) throw new AppError('auth.token_invalid');
    const authentication = await this.proofs.renew({ ...actor, session_id }, login.user, proof);
    return newAccessToken(this.tokens, { ...login, session: { session_id, ...authentication } });
  }
}

function proofOf({ challenge, ...proofs }: ReauthenticateRequest, session_id: string | null): ReauthenticationProof {
  const sent = onlyProofOf(proofs);
  if ('passkey' in sent) {
    if (challenge === undefined)
      throw invalid({ pointer: '/challenge', code: 'field.required', detail: 'is required with a passkey' });
    const assertion = readAssertion(sent.passkey);
    return { passkey: { assertion, purpose: 'reauthentication', context: session_id, challenge } };
  }
  if (challenge !== undefined)
    throw invalid({ pointer: '/challenge', code: 'field.not_allowed', detail: 'belongs to a passkey' });
  return sent;
}
