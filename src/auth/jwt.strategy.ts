import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import { Strategy } from 'passport-jwt';
import type { Actor } from '../access/actor';
import { AppError } from '../http/errors/app-error';
import { callerOf } from '../access/caller.decorator';
import { accessTokenFrom } from './tokens/request-tokens';
import { actorIn, VerifiedTokens } from './tokens/verified-tokens';

/** Authenticates a request by its access token, if the guard cannot do so from memory. */
@Injectable()
export class JwtStrategy extends PassportStrategy(Strategy, 'jwt') {
  constructor(private readonly tokens: VerifiedTokens) {
    super({
      jwtFromRequest: (request: unknown) => accessTokenFrom(request as FastifyRequest),
      // Never called, because `authenticate` verifies the token. Would reject every token.
      secretOrKeyProvider: (_request, _token, done) => done(new AppError('auth.token_invalid')),
    });
  }

  /** Passes the actor to Passport. A failure to load keys does not make a token invalid. */
  override authenticate(request: unknown): void {
    this.validate(request as FastifyRequest).then(
      (actor) => this.success(actor),
      (error: unknown) => this.error(error as Error),
    );
  }

  /** Returns the actor of the token of a request. @throws auth.token_invalid */
  async validate(request: FastifyRequest): Promise<Actor> {
    const { login } = await this.tokens.verify(accessTokenFrom(request) ?? '');
    return actorIn(login, callerOf(request));
  }
}
