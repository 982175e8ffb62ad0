import { Body, Controller, Get, Header, HttpCode, Post, Req, UseGuards } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { Actor, Caller } from '../access/actor';
import { Allow, Public } from '../access/allow.decorator';
import { CurrentActor, CurrentCaller } from '../access/caller.decorator';
import { Endpoint } from '../http/endpoint.decorator';
import { accessTokenFrom } from './tokens/request-tokens';
import {
  ChangePasswordRequest,
  CheckTokenRequest,
  CheckTokenResponse,
  JwksResponse,
  LoginRequest,
  LoginResponse,
  LogoutRequest,
} from './auth.dto';
import { AuthService } from './auth.service';
import { CheckTokenService } from './tokens/check-token.service';
import { CookieTransportGuard, CurrentRefreshCookie } from './tokens/cookie-transport.guard';
import type { RefreshCookie } from './tokens/refresh-cookie';
import { SigningKeysService } from './signing-keys/signing-keys.service';

/** Login, tokens and password changes. */
@ApiTags('Authentication')
@Controller()
export class AuthController {
  constructor(
    private readonly auth: AuthService,
    private readonly tokens: CheckTokenService,
    private readonly signingKeys: SigningKeysService,
  ) {}

  /** Log in */
  @Post('auth/login')
  @HttpCode(200)
  @Public('login', true)
  @UseGuards(CookieTransportGuard)
  @RouteConfig({ triesPassword: true, awaitsInvalidation: 'none' })
  @Endpoint({
    description:
      'By name or e-mail address. ' +
      'An unknown user, a wrong password, a disabled user and an invited user get the same response. ' +
      'If the user has a second factor, the right password returns 401 with the code `auth.second_factor_required` ' +
      'and a `challenge` for `POST /auth/second-factor`. ' +
      '`audience` and `permissions` limit the tokens of the session. Such tokens contain `permissions` instead of ' +
      '`roles`, and grant no more than these permissions here and in all modules.',
    answer: { status: 200, type: LoginResponse, description: 'A new session with its tokens' },
    errors: [
      'auth.invalid_credentials',
      'auth.second_factor_required',
      'auth.ip_not_allowed',
      'auth.scope_exceeded',
      'auth.cross_origin',
      'auth.too_many_attempts',
      'service.overloaded',
    ],
  })
  login(
    @Body() request: LoginRequest,
    @CurrentCaller() caller: Caller,
    @CurrentRefreshCookie() cookie: RefreshCookie | null,
  ): Promise<LoginResponse> {
    return this.auth.login(request, caller, cookie);
  }

  /** Check and refresh a token */
  @Post('auth/check-token')
  @HttpCode(200)
  @Header('content-type', 'application/json; charset=utf-8')
  @Public('failures', true)
  @UseGuards(CookieTransportGuard)
  @RouteConfig({ awaitsInvalidation: 'errors', respondsToKnownTokens: true })
  @ApiBody({ type: CheckTokenRequest, required: false })
  @Endpoint({
    description:
      'Works in three ways. If the body contains `token`, that access token is only checked, and the header is ' +
      'ignored. If only the header contains a token, that token is checked; past half its lifetime it is replaced by ' +
      'a new token of the same session, until 1 h after the last login or refresh. ' +
      'If the body contains `refresh_token` or `"transport": "cookie"`, both tokens are rotated. ' +
      'The access token in the header may then be absent or expired. An access token of another session, or with an ' +
      'unknown or revoked signing key, returns 401, and nothing is rotated. A refresh may narrow `audience` and ' +
      '`permissions` for the rest of the session; without them, it keeps both. ' +
      'An invalid token, an ended session and a disabled user get the same 401 response.',
    answer: { status: 200, type: CheckTokenResponse, description: 'The token is valid' },
    errors: ['auth.token_missing', 'auth.token_invalid', 'auth.scope_exceeded', 'auth.cross_origin'],
    optionalBody: true,
  })
  checkToken(
    @Req() http: FastifyRequest,
    @CurrentCaller() caller: Caller,
    @CurrentRefreshCookie() cookie: RefreshCookie | null,
  ): Promise<string> {
    return this.tokens.check(http.body, () => accessTokenFrom(http), caller, cookie);
  }

  /** Log out */
  @Post('auth/logout')
  @HttpCode(204)
  @Public('failures')
  @UseGuards(CookieTransportGuard)
  @ApiBody({ type: LogoutRequest, required: false })
  @Endpoint({
    description:
      'Ends the session of `refresh_token` or of the cookie. ' +
      'If both are absent or malformed, ends the session of the access token. ' +
      'A failed logout keeps the cookie.',
    answer: { status: 204, description: 'The session has ended' },
    errors: ['auth.token_missing', 'auth.token_invalid', 'auth.cross_origin'],
    optionalBody: true,
  })
  logout(
    @Body() request: LogoutRequest,
    @Req() http: FastifyRequest,
    @CurrentCaller() caller: Caller,
    @CurrentRefreshCookie() cookie: RefreshCookie | null,
  ): Promise<void> {
    return this.auth.logout(accessTokenFrom(http), request, caller, cookie);
  }

  /** Change your own password */
  @Post('auth/password')
  @HttpCode(204)
  @Allow(undefined, { duringPasswordChange: true, duringEnrollment: true, limit: 'login' })
  @Endpoint({
    description:
      'Ends all other sessions of the user. ' +
      'At most 8 new passwords of a user are processed at the same time; further requests return 429.',
    answer: { status: 204, description: 'The password is changed' },
    errors: ['auth.wrong_current_password', 'auth.too_many_attempts', 'service.overloaded'],
  })
  changePassword(@CurrentActor() actor: Actor, @Body() request: ChangePasswordRequest): Promise<void> {
    return this.auth.changePassword(actor, request.current_password, request.new_password);
  }

  /** Get the public keys that verify access tokens */
  @Get('.well-known/jwks.json')
  @Header('cache-control', 'public, max-age=300')
  @Public('none')
  @Endpoint({
    description:
      'JWKS (RFC 7517). An access token is a JWT with `typ` `at+jwt` and `alg` `ES256`. Its claims are `iss` (the ' +
      'public URL of the service), `aud` (`carrier-platform`), `sub` (id of the user), `client_id` ' +
      '(`carrier-platform`, or the id of the API key of a portal), `sid` (id of the session), ' +
      '`jti`, `iat`, `exp`, `user_type`, `roles`, `amr` and `auth_time` (methods and time of the authentication), ' +
      'and `carrier_id` for Carrier Users. If the login asked for `audience` or `permissions`, `aud` is that list, ' +
      'and the token contains `permissions` instead of `roles`. Other tokens contain no permissions. ' +
      'Offline verification notices the end of a session or a change of roles only when the token expires. ' +
      'The keys may be cached for 5 minutes. Fetch them again if a `kid` is unknown.',
    answer: {
      status: 200,
      type: JwksResponse,
      description: 'The key set',
      headers: { 'Cache-Control': '`public, max-age=300`' },
    },
  })
  getJwks(): JwksResponse {
    return this.signingKeys.publicKeySet();
  }
}
