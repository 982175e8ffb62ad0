import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import type { Actor } from '../../access/actor';
import { AppError } from '../../common/errors/app-error';
import {
  type ChallengeUse,
  passkeysMax,
  PasskeysService,
  readRegistration,
} from '../../credentials/factors/passkeys.service';
import { FactorEnrollmentService } from './factor-enrollment.service';
import { type FactorOwner, FactorOwnersService } from './factor-owners.service';
import { toFactorResponse } from './factors.dto';
import { EnrollmentCodeChecksService } from './enrollment-code-checks.service';
import type { AddedPasskeyResponse, AddPasskeyRequest, PasskeyOptionsResponse } from './passkeys.dto';

/** The result of a browser for new options. */
type Registration = Parameters<PasskeysService['add']>[2]['response'];

/** Enrols passkeys of the actor's own user. */
@Injectable()
export class PasskeyEnrollmentService {
  constructor(
    private readonly owners: FactorOwnersService,
    private readonly passkeys: PasskeysService,
    private readonly enrollment: FactorEnrollmentService,
    private readonly enrollmentCodes: EnrollmentCodeChecksService,
  ) {}

  /**
   * Returns the options of a new passkey. Their challenge is valid for the session of the actor. It
   * proves that the mailed code was checked.
   * @throws auth.mail_code_required, factor.too_many, auth.token_invalid
   * @throws request.not_found if passkeys are off
   */
  async createOptions(actor: Actor, mail_code: string | undefined): Promise<PasskeyOptionsResponse> {
    await this.enrollmentCodes.check(actor, mail_code);
    return this.optionsFor(actor);
  }

  @Transactional()
  private async optionsFor(actor: Actor): Promise<PasskeyOptionsResponse> {
    const { user_id, name, second_factors } = await this.owners.lock(actor);
    assertRoom(second_factors);
    const { options, challenge } = await this.passkeys.enrollmentOptions({ user_id, name }, useBy(actor));
    return { options: { ...options }, challenge };
  }

  /**
   * Adds a passkey, which is confirmed from the beginning. Returns recovery codes with the first
   * factor of the user.
   * @throws request.invalid, factor.too_many, factor.already_enrolled, auth.token_invalid
   */
  async add(actor: Actor, { name, challenge, passkey }: AddPasskeyRequest): Promise<AddedPasskeyResponse> {
    return this.insert(actor, name, challenge, readRegistration(passkey));
  }

  @Transactional()
  private async insert(
    actor: Actor,
    name: string,
    challenge: string,
    response: Registration,
  ): Promise<AddedPasskeyResponse> {
    const owner = await this.owners.lock(actor);
    assertRoom(owner.second_factors);
    const use = useBy(actor);
    const { factor, amr } = await this.passkeys.add(owner.user_id, name, { response, challenge, use });
    return { ...toFactorResponse(factor), ...(await this.enrollment.complete(actor, owner, factor, amr)) };
  }
}

function useBy({ user_id, session_id }: Actor): ChallengeUse {
  return { purpose: 'enrollment', user_id, context: session_id };
}

function assertRoom(second_factors: FactorOwner['second_factors']): void {
  const passkeys = second_factors.filter((kind) => kind === 'passkey');
  if (passkeys.length >= passkeysMax) throw new AppError('factor.too_many');
}
