import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import type { Actor } from '../access/actor';
import { EventsService } from '../audit/events.service';
import { AppError, invalid } from '../http/errors/app-error';
import type { UserResponse } from '../users/users.dto';
import { LoginsRepository } from './login/logins.repository';
import { LoginsService } from './login/logins.service';
import { onlyProofOf } from './login/only-one';
import { type FactorProof, FactorProofsService, type ProofRejection } from './second-factors/factor-proofs.service';
import { readAssertion } from './second-factors/passkeys/passkey-responses';
import type { ReauthenticateRequest, ReauthenticateResponse } from './second-factors/second-factor.dto';
import { type Authentication, SessionsService } from './sessions/sessions.service';
import { AccessTokens } from './tokens/access-tokens';
import { LiveLoginsService } from './tokens/live-logins.service';

/** A user with a session. */
type SessionActor = Actor & { session_id: string };

/** Authenticates users again in their session. */
@Injectable()
export class ReauthenticationService {
  constructor(
    private readonly logins: LoginsService,
    private readonly loginsRepository: LoginsRepository,
    private readonly factorProofs: FactorProofsService,
    private readonly sessions: SessionsService,
    private readonly events: EventsService,
    private readonly liveLogins: LiveLoginsService,
    private readonly tokens: AccessTokens,
  ) {}

  /**
   * Renews `auth_time` of the actor's session, and returns a new access token.
   * @throws request.invalid unless the request has exactly one proof that the user may use
   * @throws auth.wrong_current_password, auth.invalid_second_factor, auth.token_invalid
   * @throws auth.passkey_unknown, auth.challenge_invalid
   * @throws auth.too_many_attempts, service.overloaded
   */
  async reauthenticate(actor: Actor, request: ReauthenticateRequest): Promise<ReauthenticateResponse> {
    const { session_id, user_id } = actor;
    const proof = proofOf(request, session_id);
    const login = session_id === null ? null : await this.liveLogins.find(session_id, user_id);
    if (session_id === null || login === null) throw new AppError('auth.token_invalid');
    const within = { ...actor, session_id };
    const authentication = await ('password' in proof
      ? this.renewWithPassword(within, login.user, proof.password)
      : this.renewWithFactor(within, proof));
    return this.tokens.sign({ ...login, session: { session_id, ...authentication } });
  }

  private async renewWithPassword(actor: SessionActor, user: UserResponse, password: string): Promise<Authentication> {
    if (user.second_factors.length > 0) throw passwordNotEnough();
    await this.logins.verifyOwn(actor, password);
    return this.renewVerified(actor);
  }

  private async renewWithFactor(actor: SessionActor, proof: FactorProof): Promise<Authentication> {
    const renewed = await this.factorProofs.inTurn(actor.user_id, () => this.tryFactor(actor, proof));
    if (typeof renewed === 'string') throw new AppError(renewed);
    return renewed;
  }

  /**
   * Renews the authentication after a verified password. Rejects it if the user enrolled a factor
   * since then.
   */
  @Transactional()
  private async renewVerified(actor: SessionActor): Promise<Authentication> {
    const second_factors = await this.loginsRepository.lock(actor.user_id);
    if (second_factors.length > 0) throw passwordNotEnough();
    return this.persist(actor);
  }

  /** Returns a rejection instead of throwing it, because the transaction must count it. */
  @Transactional()
  private async tryFactor(actor: SessionActor, proof: FactorProof): Promise<Authentication | ProofRejection> {
    await this.loginsRepository.lock(actor.user_id);
    const proven = await this.factorProofs.verify(actor, actor, proof);
    return 'rejection' in proven ? proven.rejection : this.persist(actor);
  }

  private async persist(actor: SessionActor): Promise<Authentication> {
    const { user_id, carrier_id } = actor;
    const renewed = await this.sessions.reauthenticate(actor);
    await this.events.record(actor, 'login.reauthenticated', { id: user_id, carrier_id });
    return renewed;
  }
}

function passwordNotEnough(): AppError {
  return invalid({
    pointer: '/password',
    code: 'field.not_allowed',
    detail: 'is not enough for a user with a second factor; send a code, a recovery code or a passkey',
  });
}

function proofOf(
  { challenge, ...proofs }: ReauthenticateRequest,
  session_id: string | null,
): { password: string } | FactorProof {
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
