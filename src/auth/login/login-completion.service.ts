import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Actor, type Caller, systemActorFor } from '../../access/actor';
import { narrowGrant, type TokenGrant, withinGrant } from '../../access/token-grant';
import { AppError } from '../../http/errors/app-error';
import { addressKey } from '../../platform/ip';
import { hashToken, mintToken, newId } from '../../platform/random';
import { changesPassword, CredentialsService, type PasswordRenewal } from '../passwords/credentials.service';
import { LoginAttemptsService } from '../passwords/login-attempts.service';
import type { LoginAttempt, LoginCounter } from '../passwords/login-attempts.repository';
import { EnrollmentCodesService } from '../second-factors/codes/enrollment-codes.service';
import { type FactorMethod, FactorsService } from '../second-factors/factors.service';
import { EventsService } from '../../audit/events.service';
import { eventBase } from '../../audit/event-base';
import { type Authentication, type OpenedSession, SessionsService } from '../sessions/sessions.service';
import { SecurityMailsService } from '../../users/mails/security-mails.service';
import { toUserResponse, type UserResponse } from '../../users/users.dto';
import { challengeSeconds, LoginChallengesRepository } from './login-challenges.repository';
import { LoginsRepository } from './logins.repository';

/** A user with a verified password, and the open attempt. */
export interface VerifiedLogin {
  user: UserResponse;
  attempt: LoginAttempt;
  /** changes of the stored password that the login persists */
  renewal: PasswordRenewal;
}

/** A right password whose login needs a second factor. */
export interface IssuedChallenge {
  /** secret of 256 bits for the second step */
  challenge: string;
  /** seconds until the challenge expires */
  expires_in: number;
  /** what the user can send with the challenge */
  factors: FactorMethod[];
}

/** A login whose user has authenticated. */
export interface AuthenticatedLogin extends Authentication {
  user_id: string;
  /** counter that the login resets, with the attempt that it closes; null = no password */
  counter: LoginCounter | null;
  /** changes of the stored password that the login persists; null = none */
  renewal: PasswordRenewal | null;
  /** limits of the tokens; null = none */
  grant: TokenGrant | null;
  /** permissions of the user */
  held: string[];
}

/** A login with its new session. */
export interface CompletedLogin extends OpenedSession, Authentication {
  user: UserResponse;
  grant: TokenGrant | null;
  /** permissions of the user within the grant */
  permissions: string[];
  /** number of sessions that ended because the user had too many */
  ended: number;
}

/** Opens the session of every login, with one factor, two steps or a passkey alone. */
@Injectable()
export class LoginCompletionService {
  constructor(
    private readonly logins: LoginsRepository,
    private readonly credentials: CredentialsService,
    private readonly attempts: LoginAttemptsService,
    private readonly factors: FactorsService,
    private readonly enrollmentCodes: EnrollmentCodesService,
    private readonly mails: SecurityMailsService,
    private readonly sessions: SessionsService,
    private readonly events: EventsService,
    private readonly challenges: LoginChallengesRepository,
  ) {}

  /**
   * Completes the login of a user without a second factor. For any other user, only records the
   * event, issues a challenge and closes the attempt. The counter of wrong passwords stays (M12).
   * @throws auth.invalid_credentials, auth.ip_not_allowed, auth.scope_exceeded, request.invalid
   */
  @Transactional()
  async completePassword(verified: VerifiedLogin, caller: Caller): Promise<CompletedLogin | IssuedChallenge> {
    const { attempt, renewal } = verified;
    const { user_id, password_changed_at } = verified.user;
    const lock = await this.logins.lockForLogin(user_id, password_changed_at, caller.ip);
    const { rejection, second_factors, carrier_id, permissions: held } = lock;
    if (rejection !== null) throw new AppError(rejection);
    const { asked = null } = caller;
    const grant = asked && narrowGrant(asked, asked, held);
    if (second_factors.length === 0) {
      const authentication = { amr: ['pwd'], auth_time: attempt.began_at };
      return this.complete({ user_id, renewal, grant, counter: attempt, held, ...authentication }, caller);
    }
    const issued = await this.challenge(verified, grant, caller);
    await this.events.record(systemActorFor(caller), 'login.challenged', { id: user_id, carrier_id });
    return issued;
  }

  /**
   * Opens a session for a locked user who may log in. Call it in the transaction of the lock.
   * Lock order: users, login_attempts, login_challenges, user_logins, sessions, events.
   */
  async complete(
    { user_id, counter, renewal, amr, auth_time, held, ...login }: AuthenticatedLogin,
    caller: Caller,
  ): Promise<CompletedLogin> {
    const { ip, client_id } = caller;
    const grant = client_id === undefined ? login.grant : { ...login.grant, client_id };
    const service = systemActorFor(caller);
    await this.noteAddress(user_id, counter, caller);
    if (renewal !== null) await this.credentials.keep(user_id, renewal);
    if (renewal?.must_change === true)
      await this.logins.demandPasswordChange(user_id, eventBase(service, 'user.changed'));
    // The user shows only the lockout of unknown addresses. A known address has a separate lockout.
    const user = await this.logins.noteLogin({ user_id, ip, unlocks: counter?.address === '' });
    const session_id = newId();
    const actor: Actor = { ...service, actor_type: 'user', user_id, session_id };
    const ended = await this.sessions.endSurplus(actor);
    const authentication = { amr, auth_time };
    const opened = await this.sessions.open({ session_id, user, caller, authentication, grant });
    await this.enrollmentCodes.request(user, caller);
    await this.events.record(actor, 'login.succeeded', { id: user_id, carrier_id: user.carrier_id });
    const permissions = withinGrant(grant, held);
    // The user was read before the session was opened.
    return { user: toUserResponse({ ...user, online: true }), ...opened, ...authentication, grant, permissions, ended };
  }

  /** Issues a challenge to the locked user. Closes the attempt without resetting its counter. */
  private async challenge(
    { user: { user_id, password_changed_at }, attempt, renewal }: VerifiedLogin,
    token_grant: TokenGrant | null,
    { ip, user_agent }: Caller,
  ): Promise<IssuedChallenge> {
    await this.attempts.release(attempt);
    const challenge = mintToken();
    await this.challenges.insert({
      challenge_hash: hashToken(challenge),
      user_id,
      password_changed_at,
      counter_address: attempt.address,
      renewal: changesPassword(renewal) ? renewal : null,
      token_grant,
      ip,
      user_agent,
    });
    return { challenge, expires_in: challengeSeconds, factors: await this.factors.available(user_id) };
  }

  /**
   * Closes the attempt of a login and makes its address known for 30 days. Mails the user if the
   * address is new, except at the first login. Call it before `noteLogin`, so that the first login
   * does not count as an earlier one.
   */
  private async noteAddress(user_id: string, counter: LoginCounter | null, caller: Caller): Promise<void> {
    const address = caller.ip === null ? null : addressKey(caller.ip);
    const isNew =
      counter === null
        ? address !== null && (await this.attempts.know(user_id, address))
        : await this.attempts.pass(counter, address);
    if (isNew) await this.mails.newAddressLogin(caller, user_id);
  }
}
