import { TextField } from '../../http/fields/fields';
import type { JsonObject } from './passkeys/passkey-responses';
import { CodeField } from './factors.dto';
import { PasskeyChallengeField, PasskeyField } from './passkeys/passkeys.dto';
import { TokenLimits, TransportField } from '../sessions/sessions.dto';
import { passwordField } from '../auth.dto';

/** Any text, because a malformed recovery code is a wrong one. */
const recoveryCodeField = { optional: true, min: 1, max: 64, raw: true, example: 'K3QM-2V7X-ADJW-5RTL-6HNC-ZE4P' };

/** The second step of a login: the challenge with exactly one second factor. */
export class SecondFactorRequest extends TokenLimits {
  /** `challenge` of the response to the login */
  @PasskeyChallengeField() challenge!: string;
  /** current code of an authenticator app */
  @CodeField({ optional: true }) code?: string;
  /** unused recovery code; case and separators do not matter */
  @TextField(recoveryCodeField) recovery_code?: string;
  /** result of `navigator.credentials.get()`, as its `toJSON()` returns it */
  @PasskeyField({ optional: true }) passkey?: JsonObject;
  /** `cookie` = the response sets the refresh token as a cookie; only for pages of the service */
  @TransportField() transport?: 'cookie';
}

/** The challenge of a login whose user wants to send a passkey. */
export class CreateSecondFactorOptionsRequest {
  /** `challenge` of the response to the login */
  @PasskeyChallengeField() challenge!: string;
}

/** A proof that the user is present. Exactly one field, or a passkey with its challenge. */
export class ReauthenticateRequest {
  /** password; only for users without a second factor */
  @TextField({ ...passwordField, optional: true }) password?: string;
  /** current code of an authenticator app */
  @CodeField({ optional: true }) code?: string;
  /** unused recovery code; case and separators do not matter */
  @TextField(recoveryCodeField) recovery_code?: string;
  /** `challenge` of the options; required with `passkey` */
  @PasskeyChallengeField({ optional: true }) challenge?: string;
  /** result of `navigator.credentials.get()`, as its `toJSON()` returns it */
  @PasskeyField({ optional: true }) passkey?: JsonObject;
}

/** A new access token of the same session. */
export class ReauthenticateResponse {
  /** JWT with the new `auth_time`; send it as `Authorization: Bearer …` */
  access_token!: string;
  /** always `Bearer` */
  token_type!: 'Bearer';
  /** seconds until the access token expires */
  expires_in!: number;
}
