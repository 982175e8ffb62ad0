import type { UserType } from '../access/actor';
import { TextField } from '../common/http/fields';

/** A question about a token (RFC 7662 §2.1). */
export class IntrospectionRequest {
  /** an access token; refresh tokens are never active here */
  @TextField({ min: 1, max: 65_000, raw: true }) token!: string;
  /** taken, and makes no difference */
  @TextField({ optional: true, max: 256, raw: true, example: 'access_token' }) token_type_hint?: string;
}

/** What a token is worth (RFC 7662 §2.2). When it is not active, `active` is all that is told. */
export class IntrospectionResponse {
  /**
   * whether the token is good, its session lives, and its user may act; false also when the caller
   * may not ask about it
   */
  active!: boolean;
  /** always `Bearer` */
  token_type?: 'Bearer';
  /** who issued it: the service's public address */
  iss?: string;
  /** for whom: the platform */
  aud?: string;
  /** id of the user */
  sub?: string;
  /** id of the session */
  sid?: string;
  /** id of the token */
  jti?: string;
  /** when it was issued, in seconds since 1970 */
  iat?: number;
  /** when it expires, in seconds since 1970 */
  exp?: number;
  /** name of the user at this moment */
  username?: string;
  /** kind of user */
  user_type?: UserType;
  /** carrier of a Carrier User */
  carrier_id?: string;
  /** roles at this moment */
  roles?: string[];
  /** permissions at this moment, with blanks between them; absent when there are none */
  scope?: string;
}
