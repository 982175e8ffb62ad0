import { Body, Controller, Get, HttpCode, Inject, Post, UseGuards } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';
import type { Caller } from '../../../access/actor';
import { Public } from '../../../access/allow.decorator';
import { CurrentCaller } from '../../../access/caller.decorator';
import { Endpoint } from '../../../http/endpoint.decorator';
import { CONFIG, type Config } from '../../../platform/config/config';
import { PasskeyLoginsService } from './passkey-logins.service';
import { LoginWithPasskeyRequest, PasskeyOptionsResponse, PasskeyOriginsResponse } from './passkeys.dto';
import { PasskeysService } from './passkeys.service';
import { AccessTokens } from '../../tokens/access-tokens';
import { LoginResponse } from '../../auth.dto';
import { CookieTransportGuard, CurrentRefreshCookie } from '../../tokens/cookie-transport.guard';
import type { RefreshCookie } from '../../tokens/refresh-cookie';

/** Logins with a passkey, without name and password. */
@ApiTags('Authentication')
@Controller()
export class PasskeyLoginsController {
  constructor(
    private readonly passkeys: PasskeysService,
    private readonly logins: PasskeyLoginsService,
    private readonly tokens: AccessTokens,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Get the options for a login with a passkey */
  @Post('auth/passkey/options')
  @HttpCode(200)
  @Public('requests', true)
  @Endpoint({
    description:
      'Returns options for `navigator.credentials.get()`, also with `mediation: "conditional"` (autofill). ' +
      'They are the same for every caller except for the challenge, which is valid for 5 minutes and one login.',
    answer: { status: 200, type: PasskeyOptionsResponse, description: 'The options and their challenge' },
    errors: ['request.not_found', 'auth.too_many_attempts'],
    withoutBody: true,
  })
  createPasskeyLoginOptions(): Promise<PasskeyOptionsResponse> {
    // The options name no user and list no passkeys, so the browser offers every passkey it has.
    return this.passkeys.requestOptions({ purpose: 'login', user_id: null, context: null });
  }

  /** Log in with a passkey */
  @Post('auth/passkey/login')
  @HttpCode(200)
  @Public('login', true)
  @UseGuards(CookieTransportGuard)
  @RouteConfig({ awaitsInvalidation: 'none' })
  @Endpoint({
    description:
      'Without name and password: the passkey names its user, and counts as both factors. Lockouts after wrong ' +
      'passwords or codes do not matter. An unknown passkey, a wrong signature and a disabled user get the same ' +
      'response. A passkey whose signature counter went back is rejected, and its user is notified.',
    answer: { status: 200, type: LoginResponse, description: 'A new session with its tokens' },
    errors: [
      'auth.challenge_invalid',
      'auth.passkey_unknown',
      'auth.ip_not_allowed',
      'auth.scope_exceeded',
      'auth.cross_origin',
      'request.not_found',
      'auth.too_many_attempts',
      'service.overloaded',
    ],
  })
  async loginWithPasskey(
    @Body() { challenge, passkey, ...limits }: LoginWithPasskeyRequest,
    @CurrentCaller() caller: Caller,
    @CurrentRefreshCookie() cookie: RefreshCookie | null,
  ): Promise<LoginResponse> {
    const limited = this.tokens.limited(caller, limits);
    return this.tokens.respond(await this.logins.login(challenge, passkey, limited), cookie);
  }

  /** Get the origins whose pages may use passkeys */
  @Get('.well-known/webauthn')
  @Public()
  @Endpoint({
    description:
      'For related origin requests (WebAuthn Level 3, §5.11): browsers read it from the host of the RP id, so a ' +
      'proxy must serve it there. Always at the root, even with `BASE_PATH`.',
    answer: { status: 200, type: PasskeyOriginsResponse, description: 'The origins' },
  })
  getPasskeyOrigins(): PasskeyOriginsResponse {
    const { WEBAUTHN_RP_ID, WEBAUTHN_ORIGINS } = this.config;
    return { origins: WEBAUTHN_RP_ID === null ? [] : WEBAUTHN_ORIGINS };
  }
}
