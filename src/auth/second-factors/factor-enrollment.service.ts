import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { toString as renderQrCode } from 'qrcode';
import type { Actor, FactorKind } from '../../access/actor';
import { AppError, invalid } from '../../http/errors/app-error';
import { type AddedTotp, FactorsService } from './factors.service';
import type { FactorRecord } from './factors.repository';
import { EventsService } from '../../audit/events.service';
import { SessionsService } from '../sessions/sessions.service';
import { SecurityMailsService } from '../../users/mails/security-mails.service';
import { FactorChangesService } from './factor-changes.service';
import type { FactorOwner } from './factor-owners.repository';
import { EnrollmentCodesService } from './codes/enrollment-codes.service';
import { LoginChallengesRepository } from '../login/login-challenges.repository';
import {
  type AddedTotpResponse,
  type AddTotpRequest,
  type ConfirmedFactorResponse,
  type ConfirmTotpRequest,
  toFactorResponse,
} from './factors.dto';
import type { ChallengeUse } from './passkeys/passkey-challenges';
import { readRegistration } from './passkeys/passkey-responses';
import type { AddedPasskeyResponse, AddPasskeyRequest, PasskeyOptionsResponse } from './passkeys/passkeys.dto';
import { PasskeysService } from './passkeys/passkeys.service';

/** Maximum number of factors of each kind per user. */
const factorsMax = { totp: 2, passkey: 10 };
const defaultName = 'Authenticator app';

/** Enrols second factors of the actor's own user. */
@Injectable()
export class FactorEnrollmentService {
  constructor(
    private readonly changes: FactorChangesService,
    private readonly challenges: LoginChallengesRepository,
    private readonly factors: FactorsService,
    private readonly passkeys: PasskeysService,
    private readonly sessions: SessionsService,
    private readonly events: EventsService,
    private readonly mails: SecurityMailsService,
    private readonly enrollmentCodes: EnrollmentCodesService,
  ) {}

  /**
   * Adds an authenticator app, which has no effect until its confirmation.
   * @throws auth.mail_code_required, factor.too_many, auth.token_invalid
   */
  async addTotp(actor: Actor, { name = defaultName, mail_code }: AddTotpRequest): Promise<AddedTotpResponse> {
    await this.enrollmentCodes.check(actor, mail_code);
    const added = await this.insertTotp(actor, name);
    return { ...added, qr_svg: await renderQrCode(added.otpauth_uri, { type: 'svg' }) };
  }

  /**
   * Confirms an authenticator app with its first code.
   * @throws request.invalid for a wrong code, which counts
   * @throws factor.not_found, auth.token_invalid
   */
  async confirmTotp(actor: Actor, request: ConfirmTotpRequest): Promise<ConfirmedFactorResponse> {
    const confirmed = await this.tryTotp(actor, request);
    // After the commit, so that the wrong code counts.
    if (confirmed === null)
      throw invalid({ pointer: '/code', code: 'field.not_allowed', detail: 'is not the current code of the app' });
    return confirmed;
  }

  /**
   * Returns the options of a new passkey. Their challenge is valid for the session of the actor. It
   * proves that the mailed code was checked.
   * @throws auth.mail_code_required, factor.too_many, auth.token_invalid
   * @throws request.not_found if passkeys are off
   */
  async createPasskeyOptions(actor: Actor, mail_code: string | undefined): Promise<PasskeyOptionsResponse> {
    await this.enrollmentCodes.check(actor, mail_code);
    return this.passkeyOptionsFor(actor);
  }

  /**
   * Adds a passkey, which is confirmed from the beginning. Returns recovery codes with the first
   * factor of the user.
   * @throws request.invalid, factor.too_many, factor.already_enrolled, auth.token_invalid
   */
  @Transactional()
  async addPasskey(actor: Actor, { name, challenge, passkey }: AddPasskeyRequest): Promise<AddedPasskeyResponse> {
    const response = readRegistration(passkey);
    const owner = await this.lockForAnother(actor, 'passkey');
    const { factor, amr } = await this.passkeys.add(owner.user_id, name, { response, challenge, use: useBy(actor) });
    return { ...toFactorResponse(factor), ...(await this.complete(actor, owner, factor, amr)) };
  }

  @Transactional()
  private async insertTotp(actor: Actor, label: string): Promise<AddedTotp> {
    const { user_id, name } = await this.lockForAnother(actor, 'totp');
    return this.factors.addTotp(user_id, label, name);
  }

  @Transactional()
  private async passkeyOptionsFor(actor: Actor): Promise<PasskeyOptionsResponse> {
    const { user_id, name } = await this.lockForAnother(actor, 'passkey');
    return this.passkeys.enrollmentOptions(user_id, name, useBy(actor));
  }

  /** Returns null for a wrong code. */
  @Transactional()
  private async tryTotp(
    actor: Actor,
    { factor_id, code }: ConfirmTotpRequest,
  ): Promise<ConfirmedFactorResponse | null> {
    const owner = await this.changes.lock(actor);
    const confirmed = await this.factors.confirmTotp(owner.user_id, factor_id, code);
    if (confirmed === 'missing') throw new AppError('factor.not_found');
    return confirmed === 'wrong' ? null : this.complete(actor, owner, confirmed, ['otp', 'mfa']);
  }

  /**
   * Locks the actor's own user, and checks that the user may enrol another factor of this kind.
   * @throws auth.token_invalid, factor.too_many
   */
  private async lockForAnother(actor: Actor, kind: FactorKind): Promise<FactorOwner> {
    const owner = await this.changes.lock(actor);
    const same = owner.second_factors.filter((enrolled) => enrolled === kind);
    if (same.length >= factorsMax[kind]) throw new AppError('factor.too_many');
    return owner;
  }

  /**
   * Completes the enrolment of a confirmed factor. The unfinished logins of the user end. With the
   * first factor, the other sessions of the user end too, and the session of the actor gets the
   * authentication methods of the factor.
   * @param owner the locked user as before the confirmation
   * @param methods authentication methods that the session gets (RFC 8176)
   * @returns recovery codes, with the first factor
   */
  private async complete(
    actor: Actor,
    owner: FactorOwner,
    { factor_id, kind, name }: FactorRecord,
    methods: string[],
  ): Promise<ConfirmedFactorResponse> {
    const { user_id, carrier_id } = owner;
    const isFirst = owner.second_factors.length === 0;
    const recovery_codes = isFirst ? await this.factors.renewRecoveryCodes(user_id) : undefined;
    // A factor changed after the first step of these logins (M4).
    await this.challenges.endOf([user_id]);
    if (isFirst) {
      await this.enrollmentCodes.delete(user_id);
      await this.sessions.endOf(actor, [user_id], 'factors_changed', actor.session_id);
      await this.sessions.reauthenticate(actor, methods);
    }
    const changes = { factor_id: { after: factor_id }, kind: { after: kind }, name: { after: name } };
    await this.events.record(actor, 'factor.enrolled', { id: user_id, carrier_id }, changes);
    await this.mails.factorEnrolled(actor, user_id, kind);
    return recovery_codes === undefined ? {} : { recovery_codes };
  }
}

function useBy({ user_id, session_id }: Actor): ChallengeUse {
  return { purpose: 'enrollment', user_id, context: session_id };
}
