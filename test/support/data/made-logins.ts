import { RefreshTokens } from '../../../src/auth/sessions/refresh-token';
import type { AccessTokens } from '../../../src/auth/tokens/access-tokens';
import { hashToken, newId } from '../../../src/platform/random';
import { appSecret, type TestService } from '../service';
import type { ServiceProcess } from '../process/service-process';

/**
 * A user with a session, inserted by SQL without hashing. The password is that of the first
 * administrator.
 */
export interface MadeLogin {
  user_id: string;
  session_id: string;
  refresh_token: string;
  name: string;
  email: string;
  carrier_id: string | null;
  roles: string[];
}

/** Options of inserted users. */
export interface MadeUsers {
  /** prefix of their names, unique per call */
  prefix: string;
  user_type?: 'system' | 'carrier';
  roles?: string[];
  /** carriers of the users, in turn */
  carriers?: number;
}

/** Creates refresh tokens as the service does. */
export const refreshTokens = new RefreshTokens(appSecret);

/** Inserts users, each with one live session from 192.0.2.1. */
export async function addLogins(
  target: Pick<TestService, 'rows'>,
  count: number,
  made: MadeUsers,
): Promise<MadeLogin[]> {
  const { prefix, user_type = 'carrier', roles = [], carriers = 1 } = made;
  const users = await target.rows<Omit<MadeLogin, 'session_id' | 'refresh_token'>>(
    `
      with added as (
        insert into users (user_id, user_type, name, email, carrier_id, roles, status)
        select
          uuid_v7(), $2, $3 || n, $3 || n || '@example.com', case when $2 = 'carrier' then 'c' || n % $5 end,
          $4, 'active'
        from generate_series(1, $1::integer) n
        returning user_id, name, email, carrier_id, roles
      ),
      administrator as (
        select password_hash
        from credentials
        join users using (user_id)
        where name = 'administrator'
      ),
      added_credentials as (
        insert into credentials (user_id, password_hash)
        select user_id, password_hash
        from added, administrator
      )
      select *
      from added
      order by user_id`,
    [count, user_type, prefix, roles, carriers],
  );
  const logins: MadeLogin[] = [];
  for (const user of users) logins.push({ ...user, ...(await addSession(target, user.user_id)) });
  return logins;
}

/** Inserts another session of a user, opened with a second factor if the user has one. */
export async function addSession(
  target: Pick<TestService, 'rows'>,
  user_id: string,
): Promise<{ session_id: string; refresh_token: string }> {
  const session_id = newId();
  const refresh_token = refreshTokens.mint(session_id);
  await target.rows(
    `
      insert into sessions (
        session_id, user_id, user_type, carrier_id, refresh_token_hash,
        refreshed_at, expires_at, absolute_expires_at, ip,
        amr
      )
      select
        $1, user_id, user_type, carrier_id, $3,
        now(), now() + interval '1 hour', now() + interval '1 day', '192.0.2.1',
        case when second_factors = '{}' then '{pwd}'::text[] else '{pwd,otp,mfa}' end
      from users
      where user_id = $2`,
    [session_id, user_id, hashToken(refresh_token)],
  );
  return { session_id, refresh_token };
}

/** Returns an access token of a session, signed by the service. */
export async function accessTokenOf(
  service: Pick<TestService, 'inside'>,
  { user_id, session_id }: Pick<MadeLogin, 'user_id' | 'session_id'>,
): Promise<string> {
  const duties = { must_change_password: false, must_enroll_second_factor: false };
  const signed = await service.inside<AccessTokens>('AccessTokens').sign({
    user: { user_id, user_type: 'system', roles: [], carrier_id: null, ...duties },
    session: { session_id, amr: ['pwd'], auth_time: new Date() },
    grant: null,
    permissions: [],
  });
  return signed.access_token;
}

/** Rotates a refresh token. Fails unless the response contains new tokens. */
export async function rotated(
  instance: ServiceProcess,
  refresh_token: string,
): Promise<{ token: string; refresh_token: string }> {
  const { status, body, text } = await instance.send('POST', '/auth/check-token', { body: { refresh_token } });
  if (status !== 200) throw new Error(`refresh: ${status} ${text}`);
  return { token: body.access_token, refresh_token: body.refresh_token };
}
