import { Body, Controller, Delete, Get, HttpCode, Patch, Post } from '@nestjs/common';
import { ApiBody, ApiTags } from '@nestjs/swagger';
import type { Actor } from '../../access/actor';
import { Allow } from '../../access/allow.decorator';
import { CurrentActor } from '../../access/caller.decorator';
import { SingleWrite } from '../../access/long-work.decorator';
import { Endpoint } from '../../http/endpoint.decorator';
import { PathId } from '../../http/fields/path-id.decorator';
import { FactorChangesService } from './factor-changes.service';
import { FactorEnrollmentService } from './factor-enrollment.service';
import {
  AddedTotpResponse,
  AddTotpRequest,
  ConfirmedFactorResponse,
  ConfirmTotpRequest,
  FactorListResponse,
  FactorResponse,
  RecoveryCodesResponse,
  RenameFactorRequest,
} from './factors.dto';
import {
  AddedPasskeyResponse,
  AddPasskeyRequest,
  CreatePasskeyOptionsRequest,
  PasskeyOptionsResponse,
} from './passkeys/passkeys.dto';

/** The second factors of the logged-in user. */
@ApiTags('Second factors')
@Controller('auth/factor')
export class FactorsController {
  constructor(
    private readonly enrollment: FactorEnrollmentService,
    private readonly changes: FactorChangesService,
  ) {}

  /** List your own second factors */
  @Get('list')
  @Allow(undefined, { duringEnrollment: true })
  @Endpoint({
    description: 'Includes factors that are not confirmed yet. They expire after 10 minutes.',
    answer: { status: 200, type: FactorListResponse, description: 'The factors and the number of recovery codes' },
  })
  listOwnFactors(@CurrentActor() actor: Actor): Promise<FactorListResponse> {
    return this.changes.listOwn(actor);
  }

  /** Add an authenticator app */
  @Post('totp')
  @Allow(undefined, { fresh: true, duringEnrollment: true, wholeLogin: true })
  @SingleWrite()
  @Endpoint({
    description:
      'Returns the secret of a new authenticator app (TOTP, RFC 6238: SHA-1, 6 digits, 30 s). ' +
      'The factor has no effect until its confirmation and expires after 10 minutes. ' +
      'It replaces an authenticator app that was not confirmed. A user can have 2 authenticator apps. ' +
      'The first factor of a user who must have one, or whose factors were reset, needs `mail_code`.',
    answer: { status: 201, type: AddedTotpResponse, description: 'The factor and its secret' },
    errors: ['factor.too_many', 'auth.mail_code_required'],
  })
  addTotp(@CurrentActor() actor: Actor, @Body() request: AddTotpRequest): Promise<AddedTotpResponse> {
    return this.enrollment.addTotp(actor, request);
  }

  /** Confirm an authenticator app */
  @Post('totp/confirm')
  @HttpCode(200)
  @Allow(undefined, { fresh: true, duringEnrollment: true, wholeLogin: true })
  @SingleWrite()
  @Endpoint({
    description:
      'The code must be new: no code of the same or an earlier 30 seconds is accepted again, not even at login. ' +
      'A wrong code returns 400 with `errors` at `/code`; after 5 wrong codes the factor is removed. ' +
      'The first factor of a user ends all other sessions of the user and returns recovery codes.',
    answer: { status: 200, type: ConfirmedFactorResponse, description: 'The factor is confirmed' },
    errors: ['factor.not_found'],
  })
  confirmTotp(@CurrentActor() actor: Actor, @Body() request: ConfirmTotpRequest): Promise<ConfirmedFactorResponse> {
    return this.enrollment.confirmTotp(actor, request);
  }

  /** Replace your recovery codes */
  @Post('recovery-codes')
  @HttpCode(200)
  @Allow(undefined, { fresh: true, duringEnrollment: true, wholeLogin: true })
  @SingleWrite()
  @Endpoint({
    description: 'The old codes stop working. Notifies the user by mail. Requires a confirmed factor.',
    answer: { status: 200, type: RecoveryCodesResponse, description: 'The new codes' },
    errors: ['factor.not_found'],
    withoutBody: true,
  })
  renewRecoveryCodes(@CurrentActor() actor: Actor): Promise<RecoveryCodesResponse> {
    return this.changes.renewRecoveryCodes(actor);
  }

  /** Rename one of your second factors */
  @Patch(':factor_id')
  @Allow(undefined, { duringEnrollment: true })
  @SingleWrite()
  @Endpoint({
    answer: { status: 200, type: FactorResponse, description: 'The factor' },
    errors: ['factor.not_found'],
  })
  renameFactor(
    @CurrentActor() actor: Actor,
    @PathId('factor_id') factor_id: string,
    @Body() { name }: RenameFactorRequest,
  ): Promise<FactorResponse> {
    return this.changes.rename(actor, factor_id, name);
  }

  /** Remove one of your second factors */
  @Delete(':factor_id')
  @HttpCode(204)
  @Allow(undefined, { fresh: true, duringEnrollment: true, wholeLogin: true })
  @SingleWrite()
  @Endpoint({
    description:
      'Removing a confirmed factor ends all other sessions of the user. The recovery codes disappear with the ' +
      'last factor. The last factor of a user who must have one cannot be removed.',
    answer: { status: 204, description: 'The factor is removed' },
    errors: ['factor.not_found', 'factor.required'],
  })
  removeFactor(@CurrentActor() actor: Actor, @PathId('factor_id') factor_id: string): Promise<void> {
    return this.changes.remove(actor, factor_id);
  }

  /** Get the options for a new passkey */
  @Post('passkey/options')
  @HttpCode(200)
  @Allow(undefined, { fresh: true, duringEnrollment: true, wholeLogin: true })
  @ApiBody({ type: CreatePasskeyOptionsRequest, required: false })
  @SingleWrite()
  @Endpoint({
    description:
      'Returns options for `navigator.credentials.create()`. They require a discoverable credential and user ' +
      'verification, exclude the passkeys that the user already has, and request no attestation. ' +
      'A user can have 10 passkeys. ' +
      'The first factor of a user who must have one, or whose factors were reset, needs `mail_code`.',
    answer: { status: 200, type: PasskeyOptionsResponse, description: 'The options and their challenge' },
    errors: ['auth.mail_code_required', 'factor.too_many', 'request.not_found'],
    optionalBody: true,
  })
  createPasskeyOptions(
    @CurrentActor() actor: Actor,
    @Body() { mail_code }: CreatePasskeyOptionsRequest,
  ): Promise<PasskeyOptionsResponse> {
    return this.enrollment.createPasskeyOptions(actor, mail_code);
  }

  /** Add a passkey */
  @Post('passkey')
  @Allow(undefined, { fresh: true, duringEnrollment: true, wholeLogin: true })
  @SingleWrite()
  @Endpoint({
    description:
      'Adds the passkey that the browser created for the options. Members of `passkey` that the service does not ' +
      'need are ignored. The first factor of a user ends all other sessions of the user and returns recovery codes.',
    answer: { status: 201, type: AddedPasskeyResponse, description: 'The passkey' },
    errors: ['factor.too_many', 'factor.already_enrolled', 'request.not_found'],
  })
  addPasskey(@CurrentActor() actor: Actor, @Body() request: AddPasskeyRequest): Promise<AddedPasskeyResponse> {
    return this.enrollment.addPasskey(actor, request);
  }
}
