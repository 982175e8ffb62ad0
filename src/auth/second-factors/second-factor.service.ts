import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Caller, systemActorFor } from '../../access/actor';
import { callerFor } from '../../access/portal';
import { narrowGrant } from '../../access/token-grant';
import { EventsService } from '../../audit/events.service';
import { AppError } from '../../http/errors/app-error';
import { hashToken } from '../../platform/random';
import type { LoginResponse } from '../auth.dto';
import { type LoginChallenge, LoginChallengesRepository } from '../login/login-challenges.repository';
import { type CompletedLogin, LoginCompletionService } from '../login/login-completion.service';
import { countOutcome } from '../login/logins.metrics';
import { type LoginRejection, LoginsRepository, type LoginState } from '../login/logins.repository';
import { onlyProofOf } from '../login/only-one';
import { AccessTokens } from '../tokens/access-tokens';
import type { RefreshCookie } from '../tokens/refresh-cookie';
import { type FactorProof, FactorProofsService, type ProofRejection } from './factor-proofs.service';
import { readAssertion } from './passkeys/passkey-responses';
import type { PasskeyOptionsResponse } from './passkeys/passkeys.dto';
import { PasskeysService } from './passkeys/passkeys.service';
import type { SecondFactorRequest } from './second-factor.dto';

/** Completes logins with a second factor. */
@Injectable()
export class SecondFactorService {
  constructor(
    private readonly challenges: LoginChallengesRepository,
    private readonly factorProofs: FactorProofsService,
    private readonly completion: LoginCompletionService,
    private readonly logins: LoginsRepository,
    private readonly passkeys: PasskeysService,
    private readonly tokens: AccessTokens,
    private readonly events: EventsService,
  ) {}

  /**
   * Opens the session of a login after its second factor. Consumes the challenge.
   * @throws request.invalid unless the request has exactly one second factor
   * @throws auth.challenge_invalid, auth.invalid_second_factor, auth.passkey_unknown
   * @throws auth.scope_exceeded, auth.too_many_attempts, service.overloaded
   */
  async complete(
    { challenge, transport: _transport, audience, permissions, ...proofs }: SecondFactorRequest,
    caller: Caller,
    cookie: RefreshCookie | null,
  ): Promise<LoginResponse> {
    const sent = onlyProofOf(proofs);
    const proof: FactorProof =
      'passkey' in sent
        ? { passkey: { assertion: readAssertion(sent.passkey), purpose: 'second_factor', context: challenge } }
        : sent;
    const limited = this.tokens.limited(caller, { audience, permissions });
    const known = await this.find(challenge);
    const login = await countOutcome(async () => {
      const tryProof = () => this.tryProof(known, proof, callerFor(limited, known));
      const result = await this.factorProofs.inTurn(known.user_id, tryProof);
      if (typeof result === 'string') throw new AppError(result);
      return result;
    });
    return this.tokens.respond(login, cookie);
  }

  /**
   * Returns the options with which a browser asks for a passkey. Stores nothing.
   * @param challenge challenge of the login, which the response repeats
   * @throws auth.challenge_invalid
   * @throws request.not_found if passkeys are off
   */
  async createOptions(challenge: string, caller: Caller): Promise<PasskeyOptionsResponse> {
    const known = await this.find(challenge);
    const { user_id, password_changed_at } = known;
    const state = await this.logins.findForLogin(user_id, password_changed_at, callerFor(caller, known).ip);
    if (reasonAgainst(state) !== null) throw new AppError('auth.challenge_invalid');
    const use = { purpose: 'second_factor', user_id, context: challenge } as const;
    return { ...(await this.passkeys.requestOptions(use)), challenge };
  }

  private async find(challenge: string): Promise<LoginChallenge> {
    const found = await this.challenges.find(hashToken(challenge));
    if (found === null) throw new AppError('auth.challenge_invalid');
    return found;
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
    const lock = await this.logins.lockForLogin(user_id, password_changed_at, caller.ip);
    // A concurrent request may have used the challenge before the lock was granted (M1).
    const challenge = await this.challenges.find(challenge_hash);
    if (challenge === null) return 'auth.challenge_invalid';
    const { carrier_id, permissions: held } = lock;
    const reason = reasonAgainst(lock);
    if (reason !== null) {
      // `ExpiredChallengesService` then notifies the user of the missing second step.
      await this.challenges.end(challenge_hash);
      const changes = { reason: { after: reason } };
      await this.events.record(actor, 'login.second_factor_failed', { id: user_id, carrier_id }, changes);
      return 'auth.challenge_invalid';
    }
    // Before the proof: a request for too much must not use up a code.
    const grant = narrowGrant(challenge.token_grant, caller.asked ?? {}, held);
    const proven = await this.factorProofs.verify(actor, { user_id, carrier_id }, proof);
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
