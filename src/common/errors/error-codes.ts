/** One kind of refusal: its HTTP status, its title, and what the caller can do about it. */
export interface ErrorKind {
  /** HTTP status of every answer with this code */
  status: number;
  /** short, the same for every occurrence (RFC 9457 §3.1.3) */
  title: string;
  /** what it means and what to do, shown under `/docs/errors` */
  meaning: string;
  /** seconds for `Retry-After`, where the refusal is temporary */
  retry_after_seconds?: number;
}

/**
 * Every error code of the service. The codes are part of the interface: never renamed, never
 * reused. The document, `/docs/errors` and the tests are made from this table.
 */
export const errorCodes = {
  'request.invalid': {
    status: 400,
    title: 'The request is not valid',
    meaning: 'One or more fields or parameters are wrong; `errors` names each of them.',
  },
  'request.malformed_json': {
    status: 400,
    title: 'The body is not JSON',
    meaning: 'The body could not be read as JSON in UTF-8.',
  },
  'bulk.filter_required': {
    status: 400,
    title: 'A filter is required',
    meaning: 'A change of found users needs at least one filter, or `everyone=true`.',
  },
  'bulk.too_many': {
    status: 400,
    title: 'Too many users found',
    meaning: 'The filter finds more than 5,000,000 users, the most that one operation may touch. Narrow it.',
  },
  'page.too_deep': {
    status: 400,
    title: 'The page is too deep',
    meaning: '`page` × `per_page` is at most 10,000. Go further with `cursor`.',
  },
  'page.cursor_invalid': {
    status: 400,
    title: 'The cursor is not valid',
    meaning: 'A cursor is good for the same caller, filter and sort only. Start again without it.',
  },
  'auth.wrong_current_password': {
    status: 400,
    title: 'The current password is wrong',
    meaning: 'The current password did not match. It counts as a failed login.',
  },
  'auth.token_missing': {
    status: 401,
    title: 'A token is required',
    meaning: 'Send an access token as `Authorization: Bearer …` or `X-Auth-Token: …`.',
  },
  'auth.token_invalid': {
    status: 401,
    title: 'The token is not valid',
    meaning: 'The token is expired, ended, or not one of ours. Log in again.',
  },
  'auth.invalid_credentials': {
    status: 401,
    title: 'Wrong login or password',
    meaning: 'No user can log in with this login and password.',
  },
  'access.denied': {
    status: 403,
    title: 'Permission missing',
    meaning: 'The operation needs a permission that the caller does not have, or reaches outside their scope.',
  },
  'access.grant_exceeds_own': {
    status: 403,
    title: 'More than one has oneself',
    meaning:
      'A role, permission or scope can be given or taken only by someone who holds all of it, or whose role may grant it.',
  },
  'access.protected_user': {
    status: 403,
    title: 'The user is protected',
    meaning: 'The user has a role that the caller may not give, so the caller may not change them.',
  },
  'user.self_protected': {
    status: 403,
    title: 'Not on oneself',
    meaning: 'Nobody changes their own roles, scope or status, or deletes themselves.',
  },
  'auth.ip_not_allowed': {
    status: 403,
    title: 'Address not allowed',
    meaning: 'The user may log in only from the addresses in `allowed_ips`.',
  },
  'auth.password_change_required': {
    status: 403,
    title: 'The password must be changed first',
    meaning: 'Change the password with `POST /auth/password`; until then little else works.',
  },
  'request.not_found': { status: 404, title: 'Nothing here', meaning: 'The path leads nowhere.' },
  'user.not_found': {
    status: 404,
    title: 'No such user',
    meaning: 'There is no such user, or the caller may not see them.',
  },
  'session.not_found': {
    status: 404,
    title: 'No such session',
    meaning: 'There is no such session, or the caller may not see it.',
  },
  'role.not_found': {
    status: 404,
    title: 'No such role',
    meaning: 'There is no role of this name. Upper and lower case differ.',
  },
  'operation.not_found': {
    status: 404,
    title: 'No such operation',
    meaning: 'There is no such operation, or the caller may not see it.',
  },
  'key.not_found': {
    status: 404,
    title: 'No such key',
    meaning: 'There is no such key, or the caller may not see it.',
  },
  'reset.token_invalid': {
    status: 404,
    title: 'The link is not valid',
    meaning: 'The link is used, replaced, expired or not one of ours. Ask for a new one.',
  },
  'email.token_invalid': {
    status: 404,
    title: 'The link is not valid',
    meaning: 'The link is used, replaced, expired or not one of ours. Propose the address again.',
  },
  'request.method_not_allowed': {
    status: 405,
    title: 'Wrong method',
    meaning: 'The path exists, but not with this method; `Allow` lists those that do.',
  },
  'user.email_taken': {
    status: 409,
    title: 'The e-mail address is taken',
    meaning: 'Another user has this e-mail address.',
  },
  'user.name_taken': { status: 409, title: 'The name is taken', meaning: 'Another user has this name.' },
  'user.last_administrator': {
    status: 409,
    title: 'The last administrator',
    meaning: 'The change would leave the service without an active administrator.',
  },
  'user.no_password': {
    status: 409,
    title: 'The user has no password',
    meaning: 'A user without a password cannot be active. Invite them to set one.',
  },
  'role.name_taken': {
    status: 409,
    title: 'The name is taken',
    meaning: 'Another role has this name, perhaps in other upper and lower case.',
  },
  'role.in_use': {
    status: 409,
    title: 'The role is in use',
    meaning: 'A user has the role, or another role names it in `may_grant`. Take it from them first.',
  },
  'bulk.expected_mismatch': {
    status: 409,
    title: 'Another number of users than expected',
    meaning: 'The filter finds another number of users than `expected` says. Nothing was changed.',
  },
  'bulk.set_changed': {
    status: 409,
    title: 'Not what was previewed any more',
    meaning:
      'The filter finds other users than the preview showed, or the preview is used or too old. Nothing was changed; preview again.',
  },
  'operation.not_undoable': {
    status: 409,
    title: 'The operation cannot be undone',
    meaning:
      'It is still running, was undone already, is too old, changed nobody, or is of a kind that cannot be undone.',
  },
  'operation.overlaps': {
    status: 409,
    title: 'Another operation is at these users',
    meaning: 'A longer operation still has some of these users before it. Wait for its end, or cancel it.',
  },
  'idempotency.in_progress': {
    status: 409,
    title: 'The first request is still running',
    meaning:
      'A request with this `Idempotency-Key` has not been answered yet. Repeat it after `Retry-After` for its answer.',
    retry_after_seconds: 2,
  },
  'user.version_mismatch': {
    status: 412,
    title: 'The user has changed',
    meaning: 'The user is no longer the version that `If-Match` names. Read it again.',
  },
  'request.too_large': {
    status: 413,
    title: 'The body is too large',
    meaning: 'The body exceeds the limit of the operation.',
  },
  'request.unsupported_media_type': {
    status: 415,
    title: 'Unsupported media type',
    meaning: 'Send `Content-Type: application/json`, in UTF-8.',
  },
  'idempotency.key_reused': {
    status: 422,
    title: 'The key belongs to another request',
    meaning: 'This `Idempotency-Key` came with another query or body before. Take a new key for a new request.',
  },
  'request.headers_too_large': {
    status: 431,
    title: 'The headers are too large',
    meaning: 'Request line and headers together exceed 64 KiB.',
  },
  'auth.too_many_attempts': {
    status: 429,
    title: 'Too many attempts',
    meaning:
      'Too many logins or resets from this address, or too many wrong passwords one after the other. Wait for `Retry-After`; a new password, by mail, ends the latter.',
    retry_after_seconds: 60,
  },
  'request.rate_limited': {
    status: 429,
    title: 'Too many requests',
    meaning:
      'Too many requests without a valid token from this address, too many conflicts with names and e-mail addresses of ' +
      'other users, or too many new passwords of one caller at the same time. Wait for `Retry-After`.',
    retry_after_seconds: 60,
  },
  'service.internal_error': {
    status: 500,
    title: 'Internal error',
    meaning: 'A fault of the service. The `request_id` helps the operator to find it.',
  },
  'service.overloaded': {
    status: 503,
    title: 'The service is overloaded',
    meaning: 'Too much work is waiting. Try again after `Retry-After`.',
    retry_after_seconds: 2,
  },
  'service.database_unavailable': {
    status: 503,
    title: 'The database is unavailable',
    meaning: 'The database cannot be reached at the moment. Try again after `Retry-After`.',
    retry_after_seconds: 2,
  },
} as const satisfies Record<string, ErrorKind>;

/** A stable code of the form `area.what_is_wrong`. */
export type ErrorCode = keyof typeof errorCodes;

/** The kind behind a code. */
export function errorKind(code: ErrorCode): ErrorKind {
  return errorCodes[code];
}
