import { authErrorCodes } from './auth-error-codes';

/** One kind of error: its HTTP status, its title, and what the caller can do. */
export interface ErrorKind {
  /** HTTP status of every response with this code */
  status: number;
  /** short text, the same for every occurrence (RFC 9457 §3.1.3) */
  title: string;
  /** explanation and next step, shown under `/docs/errors` */
  meaning: string;
  /** seconds for `Retry-After` if the error is temporary */
  retry_after_seconds?: number;
}

/**
 * Every error code of the service.
 * The codes are part of the API: never rename or reuse a code. The OpenAPI document,
 * `docs/errors.md` and the pages under `/docs/errors` are generated from this table.
 */
export const errorCodes = {
  'request.invalid': {
    status: 400,
    title: 'The request is not valid',
    meaning: 'One or more fields or parameters are wrong. `errors` lists each of them.',
  },
  'request.malformed_json': {
    status: 400,
    title: 'The body is not valid JSON',
    meaning: 'The body cannot be parsed as JSON in UTF-8.',
  },
  'bulk.filter_required': {
    status: 400,
    title: 'A filter is required',
    meaning: 'A bulk change needs at least one filter, or `everyone=true`.',
  },
  'bulk.too_many': {
    status: 400,
    title: 'Too many matching users',
    meaning: 'The filter matches more than 5,000,000 users, the maximum for one operation. Use a narrower filter.',
  },
  'page.too_deep': {
    status: 400,
    title: 'The page is too deep',
    meaning: '`page` × `per_page` must be at most 100,000. Use `cursor` to read further.',
  },
  'page.cursor_invalid': {
    status: 400,
    title: 'The cursor is not valid',
    meaning: 'A cursor is valid only for the same caller, filter and sort order. Start again without a cursor.',
  },
  ...authErrorCodes,
  'access.denied': {
    status: 403,
    title: 'Access denied',
    meaning:
      'The caller lacks a required permission, which `errors` names, or the request reaches outside the scope of ' +
      'the caller.',
  },
  'access.grant_exceeds_own': {
    status: 403,
    title: 'Exceeds your own permissions',
    meaning:
      'A caller can grant or revoke a role, permission or scope only if they hold all of it, or if one of their ' +
      'roles may grant the role.',
  },
  'access.protected_user': {
    status: 403,
    title: 'The user is protected',
    meaning: 'The user has a role that the caller may not grant. The caller cannot change this user.',
  },
  'user.self_protected': {
    status: 403,
    title: 'Not allowed on your own user',
    meaning:
      'Users cannot change their own roles, scope or status, delete themselves, reset their own second factors, ' +
      'unlock themselves, clear their `must_change_password`, or change when they need a second factor.',
  },
  'request.not_found': {
    status: 404,
    title: 'Not found',
    meaning: 'This path does not exist.',
  },
  'user.not_found': {
    status: 404,
    title: 'User not found',
    meaning: 'The user does not exist, or the caller may not see this user.',
  },
  'session.not_found': {
    status: 404,
    title: 'Session not found',
    meaning: 'The session does not exist, or the caller may not see it.',
  },
  'role.not_found': {
    status: 404,
    title: 'Role not found',
    meaning: 'A role with this name does not exist. Names are case-sensitive.',
  },
  'operation.not_found': {
    status: 404,
    title: 'Operation not found',
    meaning: 'The operation does not exist, or the caller may not see it.',
  },
  'webhook.not_found': {
    status: 404,
    title: 'Webhook not found',
    meaning: 'The webhook does not exist, or the caller may not see it.',
  },
  'delivery.not_found': {
    status: 404,
    title: 'Delivery not found',
    meaning: 'The webhook has no delivery with this id, or it is older than 7 days.',
  },
  'key.not_found': {
    status: 404,
    title: 'API key not found',
    meaning: 'The API key does not exist, or the caller may not see it.',
  },
  'address_block.not_found': {
    status: 404,
    title: 'Address block not found',
    meaning: 'The address block does not exist, has expired or was removed.',
  },
  'mail.not_found': {
    status: 404,
    title: 'Mail not found',
    meaning: 'The mail was sent or does not exist, or the caller may not see its recipient.',
  },
  'reset.token_invalid': {
    status: 404,
    title: 'The link is no longer valid',
    meaning: 'The link was already used or replaced, has expired, or is incomplete. Request a new link.',
  },
  'email.token_invalid': {
    status: 404,
    title: 'The link is no longer valid',
    meaning: 'The link was already used or replaced, has expired, or is incomplete. Request the address change again.',
  },
  'export.link_invalid': {
    status: 404,
    title: 'The link is no longer valid',
    meaning: 'The link was already used or replaced, has expired, or its session has ended. Request a new link.',
  },
  'request.method_not_allowed': {
    status: 405,
    title: 'Method not allowed',
    meaning: 'The path exists, but not with this method. `Allow` lists the supported methods.',
  },
  'user.email_taken': {
    status: 409,
    title: 'E-mail address already in use',
    meaning: 'Another user has this e-mail address.',
  },
  'user.name_taken': {
    status: 409,
    title: 'User name already in use',
    meaning: 'Another user has this name.',
  },
  'key.inactive': {
    status: 409,
    title: 'The API key is not active',
    meaning: 'The API key has expired, or was suspended or revoked. Resume a suspended key, or create a new one.',
  },
  'address_block.own_address': {
    status: 409,
    title: 'The network is in use',
    meaning:
      'The network contains your own address, a trusted proxy, or an address from which a portal used its API key ' +
      'within the last day. Block a smaller network.',
  },
  'address_block.too_many': {
    status: 409,
    title: 'Too many address blocks',
    meaning: 'There are 10,000 address blocks. Remove blocks, or block a wider network.',
  },
  'webhook.disabled': {
    status: 409,
    title: 'The webhook is disabled',
    meaning: 'The webhook sends nothing. Enable it first.',
  },
  'webhook.too_many': {
    status: 409,
    title: 'Too many webhooks',
    meaning:
      'There are 500 webhooks, or 20 webhooks of the carrier, or the session of the caller has ended. Delete unused ' +
      'webhooks.',
  },
  'user.last_administrator': {
    status: 409,
    title: 'The last administrator is protected',
    meaning: 'The change would leave the service without an active administrator.',
  },
  'user.no_password': {
    status: 409,
    title: 'The user has no password',
    meaning: 'A user without a password cannot be active. Invite the user to set a password.',
  },
  'user.not_invited': {
    status: 409,
    title: 'The user is not invited',
    meaning: 'Only a user with the status `invited` gets an invitation. This user has a password or is disabled.',
  },
  'user.has_logged_in': {
    status: 409,
    title: 'The user has logged in',
    meaning: 'The undo of an import deletes only users who have never logged in. Delete this user individually.',
  },
  'role.name_taken': {
    status: 409,
    title: 'Role name already in use',
    meaning: 'Another role has this name, or a name that differs only in case.',
  },
  'role.in_use': {
    status: 409,
    title: 'The role is in use',
    meaning: 'A user has the role, or another role lists it in `may_grant`. Remove the role there first.',
  },
  'bulk.expected_mismatch': {
    status: 409,
    title: 'Unexpected number of users',
    meaning: 'The number of matching users differs from `expected`. Nothing was changed.',
  },
  'bulk.set_changed': {
    status: 409,
    title: 'The matching users changed since the preview',
    meaning:
      'The filter matches other users than in the preview, or the preview was already used or has expired. ' +
      'Nothing was changed. Preview again.',
  },
  'operation.not_undoable': {
    status: 409,
    title: 'The operation cannot be undone',
    meaning:
      'The operation is still running, was already undone, is too old, changed no user, or is of a kind that ' +
      'cannot be undone.',
  },
  'operation.overlaps': {
    status: 409,
    title: 'Conflicts with a running operation',
    meaning: 'A running operation will still change some of these users. Wait until it has finished, or cancel it.',
  },
  'operation.too_slow': {
    status: 409,
    title: 'The operation takes too long',
    meaning:
      'The operation failed because a change of 100 users or rows exceeded the time limit of the database. ' +
      'The users that it changed before stay changed until you undo the operation.',
  },
  'mail.being_sent': {
    status: 409,
    title: 'The mail is being sent',
    meaning: 'An attempt to send the mail is running. Read the list again to see its result.',
  },
  'idempotency.in_progress': {
    status: 409,
    title: 'The first request is still running',
    meaning:
      'A request with this `Idempotency-Key` is still being processed. Repeat the request after `Retry-After` ' +
      'to get its response.',
    retry_after_seconds: 2,
  },
  'change.cursor_expired': {
    status: 410,
    title: 'The cursor has expired',
    meaning:
      'The cursor of the change feed is older than `CHANGE_DAYS`, or than the restore of a backup. ' +
      'Changes after it can be missing. Read the list or export of the users again, and continue with its ' +
      '`changes_cursor`.',
  },
  'user.version_mismatch': {
    status: 412,
    title: 'The user has changed',
    meaning: 'The current version of the user is not the version in `If-Match`. Read the user again.',
  },
  'role.version_mismatch': {
    status: 412,
    title: 'The role has changed',
    meaning: 'The current version of the role is not the version in `If-Match`. Read the role again.',
  },
  'request.too_large': {
    status: 413,
    title: 'The body is too large',
    meaning: 'The body exceeds the size limit of the operation.',
  },
  'request.unsupported_media_type': {
    status: 415,
    title: 'Unsupported media type',
    meaning: 'Send `Content-Type: application/json`, in UTF-8.',
  },
  'idempotency.key_reused': {
    status: 422,
    title: 'Idempotency key already used',
    meaning: 'This `Idempotency-Key` was used with another query or body. Use a new key for a new request.',
  },
  'request.headers_too_large': {
    status: 431,
    title: 'The headers are too large',
    meaning: 'The request line and the headers together exceed 64 KiB.',
  },
  'request.rate_limited': {
    status: 429,
    title: 'Too many requests',
    meaning:
      'You reached a limit on requests in a period, or on requests at the same time. `RateLimit-Policy` names the ' +
      'limit. Wait for the time in `Retry-After`, and send the request again.',
    retry_after_seconds: 60,
  },
  'service.internal_error': {
    status: 500,
    title: 'Internal error',
    meaning: 'The service failed unexpectedly. Give the `request_id` to the operator.',
  },
  'service.overloaded': {
    status: 503,
    title: 'The service is overloaded',
    meaning: 'Too many requests are waiting. Repeat the request after `Retry-After`.',
    retry_after_seconds: 2,
  },
  'service.stopping': {
    status: 503,
    title: 'The service is stopping',
    meaning: 'This instance is not ready, because it is about to stop. Send the request to another instance.',
    retry_after_seconds: 2,
  },
  'service.database_unavailable': {
    status: 503,
    title: 'The database is unavailable',
    meaning: 'The database cannot be reached at the moment. Repeat the request after `Retry-After`.',
    retry_after_seconds: 2,
  },
} as const satisfies Record<string, ErrorKind>;

/** A stable code of the form `area.what_is_wrong`. */
export type ErrorCode = keyof typeof errorCodes;

/** Returns the kind of an error code. */
export function errorKind(code: ErrorCode): ErrorKind {
  return errorCodes[code];
}
