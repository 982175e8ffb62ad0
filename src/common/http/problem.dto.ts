/** One wrong field or parameter. */
export class FieldErrorResponse {
  /** JSON pointer into the body, such as `/email` (RFC 6901) */
  pointer?: string;
  /** name of a query parameter or header */
  parameter?: string;
  /**
   * stable code: `field.` `required`, `unknown`, `wrong_type`, `malformed`, `not_allowed`,
   * `too_short`, `too_long`, `too_few`, `too_many`, `too_deep`; `parameter.` `unknown`,
   * `malformed`, `not_allowed`, `conflict`, `too_many`; `password.` `too_short`, `too_long`,
   * `common`, `contains_identity`, `unchanged`
   */
  code!: string;
  /** what is wrong, for a person */
  detail!: string;
}

/** Any refusal: a problem after RFC 9457. */
export class ProblemResponse {
  /** page that explains the code */
  type!: string;
  /** short, the same for every occurrence */
  title!: string;
  /** the HTTP status again */
  status!: number;
  /** what is wrong this time */
  detail!: string;
  /** path of the request */
  instance!: string;
  /** stable code of the form `area.what_is_wrong` */
  code!: string;
  /** value of `X-Request-Id`, to be told to the operator */
  request_id!: string;
  /** each bad field or parameter */
  errors?: FieldErrorResponse[];
}
