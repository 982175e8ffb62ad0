import { Injectable } from '@nestjs/common';
import type { Actor } from '../../access/actor';
import { addressKey } from '../../platform/ip';
import { LoginAttemptsService, lockChangesOf } from '../passwords/login-attempts.service';
import { FactorsService } from './factors.service';
import { EventsService } from '../../audit/events.service';
import type { ChangesOf } from '../../audit/event-catalogue';
import { SecurityMailsService } from '../../users/mails/security-mails.service';
import { type PasskeyProof, PasskeysService } from './passkeys/passkeys.service';
import { LoginQueue, queueLimits } from '../login/login-queue';

/** What a user sends to prove a second factor. */
export type FactorProof = { code: string } | { recovery_code: string } | { passkey: PasskeyProof };

/** The locked user who sends a proof. */
export type ProvingUser = Pick<Actor, 'user_id' | 'carrier_id'>;

/** Result of a proof: authentication methods (RFC 8176) of the factor, or why it was rejected. */
export type ProofResult = { amr: string[] } | { rejection: ProofRejection };

/** Why a proof was rejected. */
export type ProofRejection = 'auth.invalid_second_factor' | 'auth.passkey_unknown' | 'auth.challenge_invalid';

/** Authentication methods of a code and of a recovery code. */
const codeMethods = ['otp', 'mfa'];

/**
 * Verifies second factors, for logins and reauthentication. Wrong codes of a user have one counter
 * over all challenges, apps and sessions (M3). Wrong recovery codes and passkeys do not count
 * there, because they cannot be guessed. A challenge counts every rejected proof.
 */
@Injectable()
export class FactorProofsService {
  private readonly queue = new LoginQueue({ ...queueLimits, runningPerAccountMax: 1 });

  constructor(
    private readonly attempts: LoginAttemptsService,
    private readonly factors: FactorsService,
    private readonly events: EventsService,
    private readonly mails: SecurityMailsService,
    private readonly passkeys: PasskeysService,
  ) {}

  /**
   * Runs the transactions that verify proofs of one user one after the other. A waiting transaction
   * holds no connection.
   * @throws service.overloaded
   */
  inTurn<Result>(user_id: string, work: () => Promise<Result>): Promise<Result> {
    return this.queue.run(user_id, work);
  }

  /**
   * Verifies a proof of a locked user, and records the events. Commit the transaction after a
   * rejection, too: the wrong code counts.
   * @throws auth.too_many_attempts while codes are locked
   */
  async verify(actor: Actor, user: ProvingUser, proof: FactorProof): Promise<ProofResult> {
    const address = actor.ip === null ? '' : addressKey(actor.ip);
    if ('passkey' in proof) return this.verifyPasskey(actor, user, proof.passkey, address);
    return 'code' in proof
      ? this.verifyCode(actor, user, proof.code, address)
      : this.verifyRecoveryCode(actor, user, proof.recovery_code, address);
  }

  /**
   * Verifies a code of an authenticator app. The user is locked, so concurrent guesses on all
   * instances run one after the other.
   */
  private async verifyCode(actor: Actor, user: ProvingUser, code: string, address: string): Promise<ProofResult> {
    const attempt = await this.attempts.beginCode(user.user_id, address);
    if ((await this.factors.acceptTotp(user.user_id, code)) === null) {
      await this.recordFailure(actor, user, lockChangesOf(await this.attempts.fail(attempt)));
      return { rejection: 'auth.invalid_second_factor' };
    }
    await this.attempts.pass(attempt);
    return { amr: codeMethods };
  }

  private async verifyRecoveryCode(
    actor: Actor,
    user: ProvingUser,
    code: string,
    address: string,
  ): Promise<ProofResult> {
    const { user_id, carrier_id } = user;
    const codes_left = await this.factors.useRecoveryCode(user_id, code);
    if (codes_left === null) {
      await this.recordFailure(actor, user, {});
      return { rejection: 'auth.invalid_second_factor' };
    }
    await this.attempts.clearCodesAt(user_id, address);
    const target = { id: user_id, carrier_id };
    await this.events.record(actor, 'factor.recovery_code_used', target, { codes_left: { after: codes_left } });
    await this.mails.recoveryCodeUsed(actor, user_id, codes_left);
    return { amr: codeMethods };
  }

  private async verifyPasskey(
    actor: Actor,
    user: ProvingUser,
    proof: PasskeyProof,
    address: string,
  ): Promise<ProofResult> {
    const result = await this.passkeys.verify(actor, user, proof);
    if ('rejection' in result) await this.recordFailure(actor, user, { reason: { after: result.rejection } });
    else await this.attempts.clearCodesAt(user.user_id, address);
    return result;
  }

  private async recordFailure(
    actor: Actor,
    { user_id, carrier_id }: ProvingUser,
    changes: ChangesOf<'login.second_factor_failed'>,
  ): Promise<void> {
    await this.events.record(actor, 'login.second_factor_failed', { id: user_id, carrier_id }, changes);
  }
}
