import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import { Strategy } from 'passport-jwt';
import type { Actor } from '../access/actor';
import { callerOf } from '../access/caller.decorator';
import { accessTokenFrom } from './access-token-header';
import { AccessTokens } from './access-tokens';
import { ActorsService } from './actors.service';

/** Verifies the access token of a request and finds out who acts. */
@Injectable()
export class JwtStrategy extends PassportStrategy(Strategy, 'jwt') {
  constructor(
    private readonly tokens: AccessTokens,
    private readonly actors: ActorsService,
  ) {
    const { algorithms, issuer, audience, clockTolerance } = tokens.rules;
    super({
      jwtFromRequest: (request: unknown) => accessTokenFrom((request as FastifyRequest).raw),
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

  /** Called by passport once signature, issuer, audience and expiry are right. */
  async validate(request: FastifyRequest, payload: unknown): Promise<Actor> {
    const { sub, sid } = this.tokens.claimsOf(payload);
    return (await this.actors.get(sid, sub, callerOf(request))).actor;
  }
}
