/** One invalid field or parameter, or a missing permission. */
export class FieldErrorResponse {
  /** JSON pointer into the body, such as `/email` (RFC 6901) @example /email */
  pointer?: string;
  /** name of a query parameter or header @example per_page */
  parameter?: string;
  /**
   * stable code: `field.` `required`, `unknown`, `wrong_type`, `malformed`, `not_allowed`,
   * `too_short`, `too_long`, `too_few`, `too_many`, `too_deep`; `parameter.` `unknown`,
   * `malformed`, `not_allowed`, `conflict`, `too_many`; `password.` `too_short`, `too_long`,
   * `common`, `contains_identity`, `breached`, `too_weak`, `unchanged`; `permission.` `missing`,
   * `unknown`
   * @example field.malformed
   */
  code!: string;
  /** explanation for people @example 'must be an e-mail address' */
  detail!: string;
  /**
   * values in `detail`, for texts that a client translates by `code`: `min` and `max` with their
   * `unit` (by default `characters` for `too_short` and `too_long`, otherwise `items`), `allowed`
   * values, `permission`, `did_you_mean`, `reason`, `line`, `column`, `role`, or the `field` or
   * `parameter` that a value conflicts with
   * @example {"max": 64}
   */
  params?: Record<string, string | number | readonly string[]>;
  /**
   * with `password.too_weak`: what makes the password easy to guess, and what helps. Keys for
   * translated texts; there may be more in the future: `straight_row`, `key_pattern`,
   * `simple_repeat`, `extended_repeat`, `sequences`, `recent_years`, `dates`, `top_ten`,
   * `top_hundred`, `common`, `similar_to_common`, `word_by_itself`, `names_by_themselves`,
   * `common_names`, `user_inputs`, `l33t`, `reverse_words`, `all_uppercase`, `capitalization`,
   * `associated_years`, `repeated`, `longer_keyboard_pattern`, `another_word`
   * @example ["similar_to_common", "another_word"]
   */
  hints?: string[];
}

/** Error response (RFC 9457). */
export class ProblemResponse {
  /** URL of a page that explains the code @example https://identity.example.net/docs/errors/user.not_found */
  type!: string;
  /** short text, the same for every occurrence @example 'User not found' */
  title!: string;
  /** HTTP status @example 404 */
  status!: number;
  /** explanation of this occurrence, for people @example 'The user does not exist.' */
  detail!: string;
  /** path of the request @example /user/0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e */
  instance!: string;
  /** stable code of the form `area.what_is_wrong` @example user.not_found */
  code!: string;
  /** value of `X-Request-Id`, for the operator */
  request_id!: string;
  /** the first 20 invalid fields or parameters; with `access.denied`, the missing permission */
  errors?: FieldErrorResponse[];
  /** number of further invalid fields or parameters that `errors` does not name @example 12 */
  errors_omitted?: number;
}
