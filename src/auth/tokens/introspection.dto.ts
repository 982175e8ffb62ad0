import { ApiProperty } from '@nestjs/swagger';
import type { UserType } from '../../access/actor';
import { TextField } from '../../http/fields/fields';

/** Introspection request (RFC 7662 §2.1). */
export class IntrospectionRequest {
  /** access token or API key; refresh tokens are never active */
  @TextField({ min: 1, max: 65_000, raw: true }) token!: string;
  /** accepted and ignored */
  @TextField({ optional: true, max: 256, raw: true, example: 'access_token' }) token_type_hint?: string;
  /** id of the API key in `client_secret`; otherwise absent, or the id of the caller */
  @TextField({ optional: true, min: 1, max: 256, raw: true }) client_id?: string;
  /** API key, instead of a header (`client_secret_post`) @example cik_Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M */
  @TextField({ optional: true, min: 1, max: 256, raw: true, format: 'password' }) client_secret?: string;
}

/** Introspection response (RFC 7662 §2.2). For an inactive token, `active` is the only field. */
export class IntrospectionResponse {
  /**
   * whether the token is valid, its session has not ended, and its user is active, or the API key
   * is active; also false if the caller may not introspect the token
   */
  active!: boolean;
  /** always `Bearer` */
  token_type?: 'Bearer';
  /** issuer: the public URL of the service, with `BASE_PATH` @example https://identity.example.net */
  iss?: string;
  /** audience: `carrier-platform`, or the list that the login asked for @example carrier-platform */
  @ApiProperty({ required: false, oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] })
  aud?: string | string[];
  /** id of the API key; absent for tokens of users @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2 */
  client_id?: string;
  /** id of the user or API key @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e */
  sub?: string;
  /** id of the session @example 0192f0c2-5b7d-7e19-a4c8-3d2e1f0a9b8c */
  sid?: string;
  /** id of the token @example 0192f0c6-1d2e-7f3a-8b4c-9eafb0c1d2e3 */
  jti?: string;
  /** time of issue, in seconds since 1970 @example 1795179600 */
  iat?: number;
  /** time of expiry, in seconds since 1970 @example 1795180200 */
  exp?: number;
  /** current name of the user @example ada */
  username?: string;
  /** type of the user */
  user_type?: UserType;
  /** carrier of a Carrier User or of their API key */
  carrier_id?: string;
  /** carriers that an API key is limited to; null = all. Absent for tokens of users */
  carrier_scope?: string[] | null;
  /** current roles; absent if the session is limited */
  roles?: string[];
  /** authentication methods of the session (RFC 8176); `mfa` after two factors */
  amr?: string[];
  /** last time the user authenticated, in seconds since 1970 @example 1795179600 */
  auth_time?: number;
  /**
   * current permissions within the limits of the session, separated by spaces; absent if there are
   * none. All known permissions follow `*`
   * @example 'user:read user:update'
   */
  scope?: string;
}
