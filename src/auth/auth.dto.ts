import { ApiProperty } from '@nestjs/swagger';
import { EmailField, TextField } from '../http/fields/fields';
import { namedEnum } from '../platform/named-enum';
import { SessionResponse, TokenLimits, TransportField } from './sessions/sessions.dto';
import { UserResponse } from '../users/users.dto';

/** What a link sets. */
const linkKinds = namedEnum('LinkKind', ['reset', 'invitation', 'not_me']);
/** A password as it is sent. */
export const passwordField = { min: 1, max: 256, raw: true, format: 'password' };
/** Any text that fits into a body. A malformed token returns 401, not 400. */
const tokenField = { optional: true, min: 1, max: 65_000, raw: true };
const newPasswordField = { ...passwordField, max: 1_024, example: 'seven bridges over a quiet river' };

/** Credentials of a user. */
export class LoginRequest extends TokenLimits {
  /** name or e-mail address, not case-sensitive */
  @TextField({ min: 1, max: 254, example: 'ada' }) login!: string;
  /** verified exactly as sent @example 'a quiet river under seven bridges' */
  @TextField(passwordField) password!: string;
  /** `cookie` = the response sets the refresh token as a cookie; only for pages of the service */
  @TransportField() transport?: 'cookie';
}

/** Access token to check, or refresh token to rotate. */
export class CheckTokenRequest extends TokenLimits {
  /** access token of any user, only checked; must not be sent together with `refresh_token` */
  @TextField({ ...tokenField, example: 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIwMTkyZjBjMSJ9.c2lnbmF0dXJl' }) token?: string;
  /** refresh token to rotate, together with its access token */
  @TextField(tokenField) refresh_token?: string;
  /** `cookie` = rotates the refresh token in the cookie; only for pages of the service */
  @TransportField() transport?: 'cookie';
}

/** Session to end. */
export class LogoutRequest {
  /** refresh token whose session ends; the access token is then not needed */
  @TextField(tokenField) refresh_token?: string;
  /** `cookie` = ends its session and removes the cookie; only for pages of the service */
  @TransportField() transport?: 'cookie';
}

/** A change of the caller's password. */
export class ChangePasswordRequest {
  /** current password @example 'a quiet river under seven bridges' */
  @TextField(passwordField) current_password!: string;
  /**
   * 15–256 characters (`PASSWORD_MIN_LENGTH` sets the minimum); must not be a common password or
   * contain the name, e-mail address or carrier of the user
   */
  @TextField(newPasswordField) new_password!: string;
}

/** A change of the caller's e-mail address. */
export class ChangeEmailRequest {
  /** new address; takes effect once it is confirmed by mail */
  @EmailField({ example: 'ada@example.net' }) email!: string;
  /** current password @example 'a quiet river under seven bridges' */
  @TextField(passwordField) current_password!: string;
}

/** Request to reset a password. */
export class ResetEmailRequest {
  /** current e-mail address of the user */
  @EmailField({ example: 'ada@example.com' }) email!: string;
}

/** New password, set with a mailed link. */
export class ResetRequest {
  /**
   * 15–256 characters (`PASSWORD_MIN_LENGTH` sets the minimum); must not be a common password or
   * contain the name, e-mail address or carrier of the user
   */
  @TextField(newPasswordField) password!: string;
}

/** A new session. */
export class LoginResponse {
  /** JWT; send it as `Authorization: Bearer …` @example eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIwMTkyZjBjMSJ9.c2lnbmF0dXJl */
  access_token!: string;
  /** always `Bearer` */
  token_type!: 'Bearer';
  /** seconds until the access token expires @example 600 */
  expires_in!: number;
  /** opaque; valid for one refresh; absent if `transport` is `cookie` @example r1_Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8o */
  refresh_token?: string;
  /** seconds until the session ends without a refresh @example 2592000 */
  refresh_expires_in!: number;
  /** the new session */
  session_id!: string;
  /** user who logged in */
  user!: UserResponse;
}

/** State of a valid token. */
export class CheckTokenResponse {
  /** always true; an invalid token returns 401 */
  active!: boolean;
  /** new access token, if `refreshed` is true */
  access_token?: string;
  /** always `Bearer` */
  token_type?: 'Bearer';
  /** seconds until the access token expires */
  expires_in!: number;
  /** whether the response contains a new access token */
  refreshed!: boolean;
  /** next refresh token, after a rotation; absent if `transport` is `cookie` */
  refresh_token?: string;
  /** seconds until the session ends without a refresh, after a rotation */
  refresh_expires_in?: number;
  /** user of the token */
  user!: UserResponse;
  /** session of the token */
  session!: SessionResponse;
  /** current permissions of the user, within the limits of the session */
  permissions!: string[];
}

/** Accepted request. It has no fields, so it does not reveal whether an address is known. */
export class AcceptedResponse {}

/** A valid link. */
export class LinkResponse {
  /** time of expiry */
  expires_at!: Date;
}

/** A valid link to set a password. */
export class ResetLinkResponse extends LinkResponse {
  /**
   * `reset` sets a new password; `invitation` sets the first one; `not_me` also undoes the changes
   * that a mail reported
   */
  @ApiProperty({ enum: linkKinds }) kind!: (typeof linkKinds)[number];
}

/** A public key that verifies access tokens (RFC 7517). */
export class JwkResponse {
  /** type of the key: `EC` @example EC */
  kty!: string;
  /** curve of the key: `P-256` @example P-256 */
  crv!: string;
  /** x coordinate of the key @example f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU */
  x!: string;
  /** y coordinate of the key @example x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0 */
  y!: string;
  /** id of the key: the `kid` of the tokens that it signs @example Qv1yPZ0tS3mJcXn8aR5dLw7hKe2uGb4oTi6fVxYkA9E */
  kid!: string;
  /** algorithm of the signatures: `ES256` @example ES256 */
  alg!: string;
  /** use of the key: `sig`, to verify signatures @example sig */
  use!: string;
}

/** Public keys (RFC 7517). */
export class JwksResponse {
  /** keys that verify access tokens */
  keys!: JwkResponse[];
}
