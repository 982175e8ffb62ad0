import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { toString as renderQrCode } from 'qrcode';
import type { Actor } from '../../access/actor';
import { AppError, invalid } from '../../common/errors/app-error';
import { type AddedTotp, type FactorRecord, FactorsService } from '../../credentials/factors/factors.service';
import { EventsService } from '../../events/events.service';
import { SessionsService } from '../../sessions/sessions.service';
import { SecurityMailsService } from '../../user-mails/security-mails.service';
import { FactorOwnersService, type FactorOwner } from './factor-owners.service';
import { EnrollmentCodeChecksService } from './enrollment-code-checks.service';
import type { AddedTotpResponse, AddTotpRequest, ConfirmedFactorResponse, ConfirmTotpRequest } from './factors.dto';

const totpMax = 2;
const defaultName = 'Authenticator app';

/** Enrols second factors of the actor's own user. */
@Injectable()
export class FactorEnrollmentService {
  constructor(
    private readonly owners: FactorOwnersService,
    private readonly factors: FactorsService,
    private readonly sessions: SessionsService,
    private readonly events: EventsService,
    private readonly mails: SecurityMailsService,
    private readonly enrollmentCodes: EnrollmentCodeChecksService,
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
   * Completes the enrolment of a confirmed factor. Call it in the transaction that confirms the
   * factor. The unfinished logins of the user end. With the first factor, the other sessions of the
   * user end too, and the session of the actor gets the authentication methods of the factor.
   * @param owner the locked user as before the confirmation
   * @param methods authentication methods that the session gets (RFC 8176)
   * @returns recovery codes, with the first factor
   */
  async complete(
    actor: Actor,
    owner: FactorOwner,
    { factor_id, kind, name }: FactorRecord,
    methods: string[],
  ): Promise<ConfirmedFactorResponse> {
    const { user_id, carrier_id } = owner;
    const isFirst = owner.second_factors.length === 0;
    const recovery_codes = isFirst ? await this.factors.renewRecoveryCodes(user_id) : undefined;
    if (isFirst) {
      await this.enrollmentCodes.forget(user_id);
      await this.owners.endLogins(actor, [user_id]);
      await this.sessions.reauthenticate(actor, methods);
    } else await this.owners.endChallenges(user_id);
    const changes = { factor_id: { after: factor_id }, kind: { after: kind }, name: { after: name } };
    await this.events.record(actor, 'factor.enrolled', { type: 'user', id: user_id, carrier_id }, changes);
    await this.mails.factorEnrolled(actor, user_id, kind);
    return recovery_codes === undefined ? {} : { recovery_codes };
  }

  @Transactional()
  private async insertTotp(actor: Actor, name: string): Promise<AddedTotp> {
    const owner = await this.owners.lock(actor);
    if (owner.second_factors.filter((kind) => kind === 'totp').length >= totpMax) throw new AppError('factor.too_many');
    return this.factors.addTotp(owner.user_id, name, owner.name);
  }

  /** Returns null for a wrong code. */
  @Transactional()
  private async tryTotp(
    actor: Actor,
    { factor_id, code }: ConfirmTotpRequest,
  ): Promise<ConfirmedFactorResponse | null> {
    const owner = await this.owners.lock(actor);
    const confirmed = await this.factors.confirmTotp(owner.user_id, factor_id, code);
    if (confirmed === 'missing') throw new AppError('factor.not_found');
    return confirmed === 'wrong' ? null : this.complete(actor, owner, confirmed, ['otp', 'mfa']);
  }
}
