import { Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { AppError } from '../common/errors/app-error';
import { LiveLoginsService } from '../logins/live-logins.service';
import { type ReauthenticationProof, SessionProofsService } from '../logins/session-proofs.service';
import { AccessTokens } from './access-tokens';
import { onlyProofOf } from './only-proof';
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
   * @throws auth.too_many_attempts, service.overloaded
   */
  async reauthenticate(actor: Actor, request: ReauthenticateRequest): Promise<ReauthenticateResponse> {
    const proof: ReauthenticationProof = onlyProofOf({ ...request });
    const { session_id, user_id } = actor;
    const login = session_id === null ? null : await this.logins.find(session_id, user_id);
    if (session_id === null || login === null) throw new AppError('auth.token_invalid');
    const authentication = await this.proofs.renew({ ...actor, session_id }, login.user, proof);
    return newAccessToken(this.tokens, login.user, { session_id, ...authentication });
  }
}
