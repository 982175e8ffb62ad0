import { Body, Controller, HttpCode, Post, UseGuards } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';
import type { Caller } from '../../access/actor';
import { Public } from '../../access/allow.decorator';
import { CurrentCaller } from '../../access/caller.decorator';
import { Endpoint } from '../../http/endpoint.decorator';
import { LoginResponse } from '../auth.dto';
import { CookieTransportGuard, CurrentRefreshCookie } from '../tokens/cookie-transport.guard';
import { PasskeyOptionsResponse } from './passkeys/passkeys.dto';
import type { RefreshCookie } from '../tokens/refresh-cookie';
import { CreateSecondFactorOptionsRequest, SecondFactorRequest } from './second-factor.dto';
import { SecondFactorService } from './second-factor.service';

/** The second step of a login. */
@ApiTags('Second factors')
@Controller('auth/second-factor')
export class SecondFactorController {
  constructor(private readonly secondFactors: SecondFactorService) {}

  /** Complete a login with a second factor */
  @Post()
  @HttpCode(200)
  @Public('requests', true)
  @UseGuards(CookieTransportGuard)
  @RouteConfig({ awaitsInvalidation: 'none' })
  @Endpoint({
    description:
      'Send the `challenge` of the login with exactly one second factor. A challenge works once and ends after 5 ' +
      'rejected codes, recovery codes or passkeys. A code works once. After several wrong codes, codes are locked ' +
      'for a while and return 429, also with other challenges; recovery codes and passkeys still work. A wrong code ' +
      'and a code that was used before get the same response.',
    answer: { status: 200, type: LoginResponse, description: 'A new session with its tokens' },
    errors: [
      'auth.challenge_invalid',
      'auth.invalid_second_factor',
      'auth.passkey_unknown',
      'auth.scope_exceeded',
      'auth.cross_origin',
      'auth.too_many_attempts',
      'service.overloaded',
    ],
  })
  completeLogin(
    @Body() request: SecondFactorRequest,
    @CurrentCaller() caller: Caller,
    @CurrentRefreshCookie() cookie: RefreshCookie | null,
  ): Promise<LoginResponse> {
    return this.secondFactors.complete(request, caller, cookie);
  }

  /** Get the options to complete a login with a passkey */
  @Post('passkey-options')
  @HttpCode(200)
  @Public('requests', true)
  @Endpoint({
    description:
      'Returns options for `navigator.credentials.get()`, with the passkeys of the user who logs in. Send the result ' +
      'to `POST /auth/second-factor`, together with the same `challenge`.',
    answer: { status: 200, type: PasskeyOptionsResponse, description: 'The options and the challenge of the login' },
    errors: ['auth.challenge_invalid', 'request.not_found', 'auth.too_many_attempts'],
  })
  createSecondFactorOptions(
    @Body() { challenge }: CreateSecondFactorOptionsRequest,
    @CurrentCaller() caller: Caller,
  ): Promise<PasskeyOptionsResponse> {
    return this.secondFactors.createOptions(challenge, caller);
  }
}
