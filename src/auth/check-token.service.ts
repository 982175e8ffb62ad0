import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../access/actor';
import { AppError, invalid } from '../common/errors/app-error';
import { CONFIG, type Config } from '../config/config';
import type { AccessTokenClaims } from './access-tokens';
import { AccessTokens } from './access-tokens';
import { type ActiveLogin, ActorsService } from './actors.service';
import { secondsUntil } from './auth.service';
import type { CheckTokenRequest, CheckTokenResponse } from './auth.dto';
import { RefreshService } from './refresh.service';

/** What an answer says of the token itself. */
type TokenPart = Omit<CheckTokenResponse, 'active' | 'user' | 'session' | 'permissions'>;

/** Is this token good, whose is it, what may they do: the question of every module. */
@Injectable()
export class CheckTokenService {
  constructor(
    private readonly tokens: AccessTokens,
    private readonly actors: ActorsService,
    private readonly refresher: RefreshService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * A `token` in the body is checked only. A token in the header is checked, and replaced when past half its life. A
   * `refresh_token` rotates the pair. @throws auth.token_missing, auth.token_invalid
   */
  async check({ token, refresh_token }: CheckTokenRequest, fromHeader: () => string | null, caller: Caller): Promise<CheckTokenResponse> {
    if (token !== undefined && refresh_token !== undefined)
      throw invalid({ pointer: '/token', code: 'field.not_allowed', detail: 'cannot go with refresh_token' });
    if (token !== undefined) return this.checkOnly(token, caller);
    if (refresh_token !== undefined) return this.refresh(refresh_token, fromHeader(), caller);
    return this.checkAndRenew(fromHeader(), caller);
  }

  private async checkOnly(token: string, caller: Caller): Promise<CheckTokenResponse> {
    const claims = this.tokens.verify(token);
    return this.describe(await this.actors.get(claims.sid, claims.sub, caller), { expires_in: secondsUntil(claims.exp), refreshed: false });
  }

  private async checkAndRenew(token: string | null, caller: Caller): Promise<CheckTokenResponse> {
    if (token === null) throw new AppError('auth.token_missing');
    const claims = this.tokens.verify(token);
    const login = await this.actors.get(claims.sid, claims.sub, caller);
    if (!this.isPastHalf(claims) || !login.renewable)
      return this.describe(login, { expires_in: secondsUntil(claims.exp), refreshed: false });
    return this.describe(login, { ...this.sign(login), refreshed: true });
  }

  private async refresh(refresh_token: string, access_token: string | null, caller: Caller): Promise<CheckTokenResponse> {
    const claims = access_token === null ? null : this.tokens.verify(access_token, { ignoreExpiration: true });
    const refreshed = await this.refresher.rotate(refresh_token, claims?.sid ?? null, caller);
    if (refreshed.outcome !== 'rotated') throw new AppError('auth.token_invalid');
    const login = await this.actors.get(refreshed.session_id, refreshed.user_id, caller);
    const pair = { refresh_token: refreshed.refresh_token, refresh_expires_in: secondsUntil(refreshed.expires_at.getTime() / 1_000) };
    return this.describe(login, { ...this.sign(login), refreshed: true, ...pair });
  }

  private sign({ actor }: ActiveLogin): Pick<CheckTokenResponse, 'access_token' | 'token_type' | 'expires_in'> {
    const { user_id, user_type, roles, carrier_id } = actor;
    return { ...this.tokens.sign({ user_id, session_id: actor.session_id ?? '', user_type, roles, carrier_id }), token_type: 'Bearer' };
  }

  private describe({ user, session, actor }: ActiveLogin, tokens: TokenPart): CheckTokenResponse {
    return { active: true, ...tokens, user, session, permissions: actor.permissions };
  }

  private isPastHalf(claims: AccessTokenClaims): boolean {
    return secondsUntil(claims.exp) * 2 < this.config.ACCESS_TOKEN_TTL_SECONDS;
  }
}
