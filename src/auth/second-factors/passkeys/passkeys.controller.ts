import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiBody, ApiTags } from '@nestjs/swagger';
import type { Actor } from '../../../access/actor';
import { Allow } from '../../../access/allow.decorator';
import { CurrentActor } from '../../../access/caller.decorator';
import { SingleWrite } from '../../../access/long-work.decorator';
import { Endpoint } from '../../../http/endpoint.decorator';
import { FactorEnrollmentService } from '../factor-enrollment.service';
import {
  AddedPasskeyResponse,
  AddPasskeyRequest,
  CreatePasskeyOptionsRequest,
  PasskeyOptionsResponse,
} from './passkeys.dto';

/** The passkeys of the logged-in user. */
@ApiTags('Second factors')
@Controller('auth/factor/passkey')
export class PasskeysController {
  constructor(private readonly enrollment: FactorEnrollmentService) {}

  /** Get the options for a new passkey */
  @Post('options')
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
  @Post()
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
