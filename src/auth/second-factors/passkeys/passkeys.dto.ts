import { JsonObjectField, TextField } from '../../../http/fields/fields';
import type { JsonObject } from './passkey-responses';
import { TokenLimits, TransportField } from '../../sessions/sessions.dto';
import { FactorResponse, MailCodeField } from '../factors.dto';

/** Bounds the JSON of a browser. The members that matter have their own limits. */
const passkeyLimits = { maxBytes: 49_152, maxDepth: 10, maxKeys: 1_000 };
const response = { clientDataJSON: 'e30', authenticatorData: 'AA', signature: 'AA', userHandle: 'AA' };
const example = { id: 'cGFzc2tleQ', rawId: 'cGFzc2tleQ', type: 'public-key', response, clientExtensionResults: {} };
/** Any text, because a malformed challenge is an invalid one. */
const challengeLimits = { min: 1, max: 1_024, raw: true, example: 'Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M' };

/** Declares the result of a browser as a field. */
export const PasskeyField = (options: { optional?: boolean } = {}): PropertyDecorator =>
  JsonObjectField({ ...options, ...passkeyLimits, example });

/** Declares the challenge of options as a field. */
export const PasskeyChallengeField = (options: { optional?: boolean } = {}): PropertyDecorator =>
  TextField({ ...options, ...challengeLimits });

/** A request for the options of a new passkey. */
export class CreatePasskeyOptionsRequest {
  /**
   * code from the mail that was sent at the login; required for the first factor of a user who must
   * have one or whose factors were reset, see `auth.mail_code_required`
   */
  @MailCodeField() mail_code?: string;
}

/** A new passkey. */
export class AddPasskeyRequest {
  /** name of the factor, 1–64 characters */
  @TextField({ min: 1, max: 64, example: 'Laptop' }) name!: string;
  /** `challenge` of the options */
  @PasskeyChallengeField() challenge!: string;
  /** result of `navigator.credentials.create()`, as its `toJSON()` returns it */
  @PasskeyField() passkey!: JsonObject;
}

/** A login with a passkey. */
export class LoginWithPasskeyRequest extends TokenLimits {
  /** `challenge` of the options */
  @PasskeyChallengeField() challenge!: string;
  /** result of `navigator.credentials.get()`, as its `toJSON()` returns it */
  @PasskeyField() passkey!: JsonObject;
  /** `cookie` = the response sets the refresh token as a cookie; only for pages of the service */
  @TransportField() transport?: 'cookie';
}

/** WebAuthn options, valid for 5 minutes. */
export class PasskeyOptionsResponse {
  /**
   * options for `PublicKeyCredential.parseCreationOptionsFromJSON()` or
   * `parseRequestOptionsFromJSON()` of the browser (WebAuthn Level 3)
   * @example {"challenge": "ZXhhbXBsZQ", "rpId": "example.net", "timeout": 300000, "userVerification": "required"}
   */
  options!: JsonObject;
  /** send it back together with the passkey */
  challenge!: string;
}

/** An enrolled passkey. */
export class AddedPasskeyResponse extends FactorResponse {
  /** ten single-use codes, with the first factor of a user; no other response contains them */
  recovery_codes?: string[];
}

/** The origins whose pages may use passkeys of the service (WebAuthn Level 3, §5.11). */
export class PasskeyOriginsResponse {
  /** origins of `WEBAUTHN_ORIGINS`; empty if passkeys are off @example ["https://portal.example.net"] */
  origins!: string[];
}
