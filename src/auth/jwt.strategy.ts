import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import { Strategy } from 'passport-jwt';
import type { Actor } from '../access/actor';
import { callerOf } from '../access/caller.decorator';
import { accessTokenFrom } from './request-tokens';
import { AccessTokens } from './access-tokens';
import { ActorsService } from './actors.service';
import { VerifiedTokens } from './verified-tokens';

/** Verifies an access token and resolves its actor, if the guard cannot do so from memory. */
@Injectable()
export class JwtStrategy extends PassportStrategy(Strategy, 'jwt') {
  constructor(
    private readonly tokens: AccessTokens,
    private readonly actors: ActorsService,
    private readonly verified: VerifiedTokens,
  ) {
    const { algorithms, issuer, audience, clockTolerance } = tokens.rules;
    super({
      jwtFromRequest: (request: unknown) => accessTokenFrom(request as FastifyRequest),
      secretOrKeyProvider: (_request, token: string, done) => {
        try {
          done(null, tokens.keyFor(token) as never);
        } catch (error) {
          done(error);
        }
      },
      algorithms,
      issuer,
      audience,
      jsonWebTokenOptions: { clockTolerance },
      passReqToCallback: true,
    });
  }

  /** Starts the verification for Passport. A failure to load keys does not make a token invalid. */
  override authenticate(request: Parameters<Strategy['authenticate']>[0], options?: unknown): void {
    const token = accessTokenFrom(request as unknown as FastifyRequest) ?? '';
    this.tokens.learnKey(token).then(
      () => super.authenticate(request, options),
      (error: unknown) => this.error(error as Error),
    );
  }

  /** Returns the actor, after Passport verified signature, issuer, audience and expiry. */
  async validate(request: FastifyRequest, payload: unknown): Promise<Actor> {
    const claims = this.tokens.claimsOf(payload);
    this.verified.remember(accessTokenFrom(request) as string, claims);
    return this.actors.get(claims, callerOf(request));
  }
}
