import { ApiProperty } from '@nestjs/swagger';
import { type FactorKind, factorKinds } from '../../access/actor';
import { TextField } from '../../http/fields/fields';
import { uuidForm } from '../../platform/text-forms';
import type { FactorRecord } from './factors.repository';
import { providerOf } from './passkeys/passkey-providers';
import { totpCodeFormat } from './codes/totp';

const nameField = { min: 1, max: 64, example: 'Phone' };

/** Declares the mailed code of an enrolment as a field. */
export const MailCodeField = (): PropertyDecorator =>
  TextField({ optional: true, min: 1, max: 64, example: '01234567' });

/** Declares the code of an authenticator app as a field. */
export const CodeField = (options: { optional?: boolean } = {}): PropertyDecorator =>
  TextField({ ...options, max: 6, pattern: totpCodeFormat, form: 'must be six digits', example: '492039' });

/** A new authenticator app. */
export class AddTotpRequest {
  /** name of the factor, 1–64 characters; default: `Authenticator app` */
  @TextField({ optional: true, ...nameField }) name?: string;
  /**
   * code from the mail that was sent at the login; required for the first factor of a user who must
   * have one or whose factors were reset, see `auth.mail_code_required`
   */
  @MailCodeField() mail_code?: string;
}

/** The first code of an authenticator app. */
export class ConfirmTotpRequest {
  /** id of the unconfirmed factor */
  @TextField({ max: 36, format: 'uuid', pattern: uuidForm, form: 'must be a UUID' }) factor_id!: string;
  /** six digits that the app shows */
  @CodeField() code!: string;
}

/** A new name of a factor. */
export class RenameFactorRequest {
  /** 1–64 characters */
  @TextField(nameField) name!: string;
}

/** A second factor, without its secret. */
export class FactorResponse {
  /** UUIDv7 @example 0192f0c6-1d2e-7f3a-8b4c-5d6e7f8a9b0c */
  factor_id!: string;
  /** kind of factor */
  @ApiProperty({ enum: factorKinds }) kind!: FactorKind;
  /** name that the user gave the factor @example Phone */
  name!: string;
  /** product that keeps a passkey; absent if it is not known @example 'Google Password Manager' */
  provider?: string;
  /** time of creation */
  created_at!: Date;
  /** last time that the factor was used; null = never */
  last_used_at!: Date | null;
  /**
   * false until the first code; until then the factor has no effect, and it expires after 10
   * minutes
   */
  confirmed!: boolean;
}

/** The second factors of a user. */
export class FactorListResponse {
  /** oldest first */
  items!: FactorResponse[];
  /** number of unused recovery codes @example 10 */
  recovery_codes_left!: number;
}

/** An authenticator app to confirm. No other response contains the secret. */
export class AddedTotpResponse {
  /** id of the unconfirmed factor */
  factor_id!: string;
  /** secret of 160 bits in base32, to type into an authenticator app @example JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP */
  secret!: string;
  /** URI with the secret, which apps read from a QR code @example otpauth://totp/ada?secret=JBSWY3DPEHPK3PXP */
  otpauth_uri!: string;
  /** QR code of `otpauth_uri`, an SVG image @example <svg></svg> */
  qr_svg!: string;
}

/** A confirmed factor. */
export class ConfirmedFactorResponse {
  /** ten single-use codes, with the first factor of a user; no other response contains them */
  recovery_codes?: string[];
}

/** New recovery codes. */
export class RecoveryCodesResponse {
  /** ten single-use codes; no other response contains them @example ["MFRG-GZDF-MZTW-Q2LK-NNWG-23TP"] */
  recovery_codes!: string[];
}

/** Builds the response of a factor from an allow-list of columns. */
export function toFactorResponse({
  factor_id,
  kind,
  name,
  created_at,
  last_used_at,
  confirmed,
  aaguid,
}: FactorRecord): FactorResponse {
  const provider = providerOf(aaguid);
  const known = provider === null ? {} : { provider };
  return { factor_id, kind, name, ...known, created_at, last_used_at, confirmed };
}
