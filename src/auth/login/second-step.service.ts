import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Caller, systemActorFor } from '../../access/actor';
import { callerFor } from '../../access/portal';
import { narrowGrant } from '../../access/token-grant';
import { AppError } from '../../http/errors/app-error';
import { hashToken } from '../../platform/random';
import { EventsService } from '../../audit/events.service';
import { type FactorProof, FactorProofsService, type ProofRejection } from '../second-factors/factor-proofs.service';
import { type LoginChallenge, LoginChallengesRepository } from './login-challenges.repository';
import { type CompletedLogin, LoginCompletionService } from './login-completion.service';
import { countOutcome } from './logins.metrics';
import { type LoginRejection, LoginsRepository, type LoginState } from './logins.repository';

/** Completes logins that need a second factor. */
@Injectable()
export class SecondStepService {
  constructor(
    private readonly challenges: LoginChallengesRepository,
    private readonly factorProofs: FactorProofsService,
    private readonly completion: LoginCompletionService,
    private readonly repository: LoginsRepository,
    private readonly events: EventsService,
  ) {}

  /**
   * Returns the challenge of a login if its user may still take the second step. Changes nothing.
   * @throws auth.challenge_invalid
   */
  async find(given: string, caller: Caller): Promise<LoginChallenge> {
    const challenge = await this.challenges.find(hashToken(given));
    if (challenge === null) throw new AppError('auth.challenge_invalid');
    const { user_id, password_changed_at } = challenge;
    const { ip } = callerFor(caller, challenge);
    const state = await this.repository.findForLogin(user_id, password_changed_at, ip);
    if (reasonAgainst(state) !== null) throw new AppError('auth.challenge_invalid');
    return challenge;
  }

  /**
   * Opens the session of a login after its second factor. Uses the challenge up.
   * @throws auth.challenge_invalid, auth.invalid_second_factor, auth.passkey_unknown
   * @throws auth.scope_exceeded, auth.too_many_attempts, service.overloaded
   */
  async complete(challenge: string, proof: FactorProof, caller: Caller): Promise<CompletedLogin> {
    const known = await this.challenges.find(hashToken(challenge));
    if (known === null) throw new AppError('auth.challenge_invalid');
    return countOutcome(async () => {
      const tryProof = () => this.tryProof(known, proof, callerFor(caller, known));
      const result = await this.factorProofs.inTurn(known.user_id, tryProof);
      if (typeof result === 'string') throw new AppError(result);
      return result;
    });
  }

  /**
   * Checks user, challenge and proof, in the order in which they are locked. Returns a rejection
   * instead of throwing it, because the transaction must count it.
   */
  @Transactional()
  private async tryProof(
    { challenge_hash, user_id, password_changed_at }: LoginChallenge,
    proof: FactorProof,
    caller: Caller,
  ): Promise<CompletedLogin | ProofRejection> {
    const actor = systemActorFor(caller);
    const lock = await this.repository.lockForLogin(user_id, password_changed_at, caller.ip);
    // A concurrent request may have used the challenge before the lock was granted (M1).
    const challenge = await this.challenges.find(challenge_hash);
    if (challenge === null) return 'auth.challenge_invalid';
    const reason = reasonAgainst(lock);
    if (reason !== null) {
      // `ExpiredChallengesService` then notifies the user of the missing second step.
      await this.challenges.end(challenge_hash);
      const target = { id: user_id, carrier_id: lock.carrier_id };
      await this.events.record(actor, 'login.second_factor_failed', target, { reason: { after: reason } });
      return 'auth.challenge_invalid';
    }
    // Before the proof: a request for too much must not use up a code.
    const held = lock.permissions;
    const grant = narrowGrant(challenge.token_grant, caller.asked ?? {}, held);
    const proven = await this.factorProofs.verify(actor, { user_id, carrier_id: lock.carrier_id }, proof);
    if ('rejection' in proven) {
      await this.challenges.countWrong(challenge_hash);
      return proven.rejection;
    }
    await this.challenges.delete(challenge_hash);
    const { counter_address, renewal } = challenge;
    const counter = { account: user_id, address: counter_address };
    const amr = ['pwd', ...proven.amr];
    return this.completion.complete({ user_id, counter, renewal, amr, auth_time: lock.locked_at, grant, held }, caller);
  }
}

/** Returns why a user may not take the second step, or null. */
function reasonAgainst({ rejection, second_factors }: LoginState): LoginRejection | 'auth.challenge_invalid' | null {
  return rejection ?? (second_factors.length === 0 ? 'auth.challenge_invalid' : null);
}
