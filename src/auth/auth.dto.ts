import { EmailField, TextField } from '../common/http/fields';
import { SessionResponse } from '../sessions/sessions.dto';
import { UserResponse } from '../users/users.dto';

const passwordField = { min: 1, max: 256, raw: true, format: 'password' };
/** Any text that fits into a body: a token of the wrong form is a bad token, not a bad request. */
const tokenField = { optional: true, min: 1, max: 65_000, raw: true };
const newPasswordField = { min: 1, max: 1_024, raw: true, format: 'password' };

/** A login. */
export class LoginRequest {
  /** name or e-mail address, without regard to case */
  @TextField({ min: 1, max: 254, example: 'ada' }) login!: string;
  /** verified exactly as sent */
  @TextField(passwordField) password!: string;
}

/** A token to be checked, or a pair to be refreshed. */
export class CheckTokenRequest {
  /** access token of any user, to be checked only; not together with `refresh_token` */
  @TextField(tokenField) token?: string;
  /** rotates the pair */
  @TextField(tokenField) refresh_token?: string;
}

/** The end of a session. */
export class LogoutRequest {
  /** ends its session without an access token */
  @TextField(tokenField) refresh_token?: string;
}

/** A change of one's own password. */
export class ChangePasswordRequest {
  /** the password in force */
  @TextField(passwordField) current_password!: string;
  /**
   * 15–256 characters (`PASSWORD_MIN_LENGTH` sets the least); not common, not containing name,
   * address or carrier
   */
  @TextField(newPasswordField) new_password!: string;
}

/** A change of one's own e-mail address. */
export class ChangeEmailRequest {
  /** the new address; counts once its owner confirms it by mail */
  @EmailField({ example: 'ada@example.net' }) email!: string;
  /** the password in force */
  @TextField(passwordField) current_password!: string;
}

/** A wish to reset a password. */
export class ResetEmailRequest {
  /** address in force of the user */
  @EmailField({ example: 'ada@example.com' }) email!: string;
}

/** A new password, by the link of a mail. */
export class ResetRequest {
  /**
   * 15–256 characters (`PASSWORD_MIN_LENGTH` sets the least); not common, not containing name,
   * address or carrier
   */
  @TextField(newPasswordField) password!: string;
}

/** A new session. */
export class LoginResponse {
  /** JWT; send it as `Authorization: Bearer …` */
  access_token!: string;
  /** always `Bearer` */
  token_type!: 'Bearer';
  /** seconds until the access token expires */
  expires_in!: number;
  /** opaque; good for one refresh */
  refresh_token!: string;
  /** seconds until the session ends if nothing happens */
  refresh_expires_in!: number;
  /** the new session */
  session_id!: string;
  /** who logged in */
  user!: UserResponse;
}

/** What a good token stands for. */
export class CheckTokenResponse {
  /** always true; a bad token is answered with 401 */
  active!: boolean;
  /** a new access token, where there is one */
  access_token?: string;
  /** always `Bearer` */
  token_type?: 'Bearer';
  /** seconds until the access token expires */
  expires_in!: number;
  /** whether there is a new access token */
  refreshed!: boolean;
  /** the next refresh token, after a refresh */
  refresh_token?: string;
  /** seconds until the session ends if nothing happens, after a refresh */
  refresh_expires_in?: number;
  /** whose token it is */
  user!: UserResponse;
  /** the session behind it */
  session!: SessionResponse;
  /** what its user may do at this moment */
  permissions!: string[];
}

/** An accepted wish; the same whether the address is known or not. */
export class AcceptedResponse {}

/** A link that is good. */
export class LinkResponse {
  /** when it expires */
  expires_at!: Date;
}

/** Public keys (RFC 7517). */
export class JwksResponse {
  /** keys that verify access tokens */
  keys!: Record<string, unknown>[];
}
