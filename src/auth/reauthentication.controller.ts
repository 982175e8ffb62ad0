import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../access/actor';
import { Allow } from '../access/allow.decorator';
import { CurrentActor } from '../access/caller.decorator';
import { Endpoint } from '../http/endpoint.decorator';
import { PasskeyOptionsResponse } from './second-factors/passkeys/passkeys.dto';
import { PasskeysService } from './second-factors/passkeys/passkeys.service';
import { ReauthenticationService } from './reauthentication.service';
import { ReauthenticateRequest, ReauthenticateResponse } from './second-factors/second-factor.dto';

/** Authentication within a session, before sensitive operations. */
@ApiTags('Authentication')
@Controller('auth/reauthenticate')
export class ReauthenticationController {
  constructor(
    private readonly reauthentication: ReauthenticationService,
    private readonly passkeys: PasskeysService,
  ) {}

  /** Authenticate again in the current session */
  @Post()
  @HttpCode(200)
  @Allow(undefined, { duringEnrollment: true, limit: 'login' })
  @Endpoint({
    description:
      'Renews `auth_time` of the session. The new time is valid with the next request, on every instance and for ' +
      'older access tokens, too. Users with a second factor send a code, a recovery code or a passkey; other users ' +
      'send the password. Failures count like those of logins.',
    answer: { status: 200, type: ReauthenticateResponse, description: 'A new access token of the session' },
    errors: [
      'auth.wrong_current_password',
      'auth.invalid_second_factor',
      'auth.passkey_unknown',
      'auth.challenge_invalid',
      'auth.too_many_attempts',
      'service.overloaded',
    ],
  })
  reauthenticate(
    @CurrentActor() actor: Actor,
    @Body() request: ReauthenticateRequest,
  ): Promise<ReauthenticateResponse> {
    return this.reauthentication.reauthenticate(actor, request);
  }

  /** Get the options to authenticate again with a passkey */
  @Post('options')
  @HttpCode(200)
  @Allow(undefined, { duringEnrollment: true })
  @Endpoint({
    description: 'Returns options for `navigator.credentials.get()`, with the passkeys of the user.',
    answer: { status: 200, type: PasskeyOptionsResponse, description: 'The options and their challenge' },
    errors: ['request.not_found'],
    withoutBody: true,
  })
  createReauthenticationOptions(@CurrentActor() { user_id, session_id }: Actor): Promise<PasskeyOptionsResponse> {
    return this.passkeys.requestOptions({ purpose: 'reauthentication', user_id, context: session_id });
  }
}
