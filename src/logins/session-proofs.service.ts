import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import type { Actor } from '../access/actor';
import { AppError, invalid } from '../common/errors/app-error';
import { EventsService } from '../events/events.service';
import { type Authentication, SessionsService } from '../sessions/sessions.service';
import type { UserResponse } from '../users/users.dto';
import { type FactorProof, FactorProofsService, type ProofRejection } from './factor-proofs.service';
import { LoginsRepository } from './logins.repository';
import { LoginsService } from './logins.service';

/** What a user sends to authenticate again. */
export type ReauthenticationProof = { password: string } | FactorProof;

/** A user with a session. */
type SessionActor = Actor & { session_id: string };

/** Renews the authentication of sessions. */
@Injectable()
export class SessionProofsService {
  constructor(
    private readonly logins: LoginsService,
    private readonly loginsRepository: LoginsRepository,
    private readonly factorProofs: FactorProofsService,
    private readonly sessions: SessionsService,
    private readonly events: EventsService,
  ) {}

  /**
   * Verifies a proof, and renews `auth_time` of the actor's session.
   * @param user current state of the actor's user
   * @throws request.invalid for a password of a user with a second factor
   * @throws auth.wrong_current_password, auth.invalid_second_factor, auth.token_invalid
   * @throws auth.passkey_unknown, auth.challenge_invalid
   * @throws auth.too_many_attempts, service.overloaded
   */
  async renew(actor: SessionActor, user: UserResponse, proof: ReauthenticationProof): Promise<Authentication> {
    if ('password' in proof) return this.renewWithPassword(actor, user, proof.password);
    const renewed = await this.factorProofs.inTurn(actor.user_id, () => this.renewWithFactor(actor, proof));
    if (typeof renewed === 'string') throw new AppError(renewed);
    return renewed;
  }

  private async renewWithPassword(actor: SessionActor, user: UserResponse, password: string): Promise<Authentication> {
    if (user.second_factors.length > 0) throw passwordNotEnough();
    const verified = await this.logins.verifyOwn(actor, password);
    if (verified === null) throw new AppError('auth.wrong_current_password');
    return this.renewVerified(actor);
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
  private async renewWithFactor(actor: SessionActor, proof: FactorProof): Promise<Authentication | ProofRejection> {
    await this.loginsRepository.lock(actor.user_id);
    const proven = await this.factorProofs.verify(actor, actor, proof);
    return 'rejection' in proven ? proven.rejection : this.persist(actor);
  }

  private async persist(actor: SessionActor): Promise<Authentication> {
    const { user_id, carrier_id } = actor;
    const renewed = await this.sessions.reauthenticate(actor);
    await this.events.record(actor, 'login.reauthenticated', { type: 'login', id: user_id, carrier_id });
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
