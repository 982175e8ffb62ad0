// Generated from openapi.json by `npm run generate`. Do not edit.

/** Method, path and flags of each operation, by noun and verb. */
export const operations = {
  audit: {
    /**
     * List the events of the audit log.
     * `GET /audit/list`.
     * Permission: audit:read.
     */
    list: ['GET', '/audit/list', { query: true, paged: true }],
  },
  changes: {
    /**
     * Follow changes.
     * `GET /change/list`.
     * Permission: change:read.
     */
    list: ['GET', '/change/list', { query: true }],
  },
  roles: {
    /**
     * Create a role.
     * `POST /role/create`.
     * Permission: role:manage.
     */
    create: ['POST', '/role/create', { body: 'json', query: true }],
    /**
     * List the roles.
     * `GET /role/list`.
     * Permission: role:read.
     */
    list: ['GET', '/role/list', {}],
    /**
     * Get one role.
     * `GET /role/{role}`.
     * Permission: role:read.
     */
    get: ['GET', '/role/{role}', {}],
    /**
     * Modify a role.
     * `PATCH /role/{role}`.
     * Permission: role:manage.
     */
    update: ['PATCH', '/role/{role}', { body: 'json', query: true }],
    /**
     * Delete a role.
     * `DELETE /role/{role}`.
     * Permission: role:manage.
     */
    delete: ['DELETE', '/role/{role}', {}],
  },
  sessions: {
    /**
     * List web sessions.
     * `GET /auth/session/list`.
     * Permission: any login.
     */
    list: ['GET', '/auth/session/list', { query: true, paged: true }],
    /**
     * End the sessions that match a filter.
     * `DELETE /auth/session/all`.
     * Permission: any login.
     */
    deleteAll: ['DELETE', '/auth/session/all', { query: true }],
    /**
     * End one session.
     * `DELETE /auth/session/{session_id}`.
     * Permission: any login.
     */
    delete: ['DELETE', '/auth/session/{session_id}', {}],
  },
  keys: {
    /**
     * Create an API key.
     * `POST /auth/key/create`.
     * Permission: key:manage.
     */
    create: ['POST', '/auth/key/create', { body: 'json', query: true }],
    /**
     * List API keys.
     * `GET /auth/key/list`.
     * Permission: key:manage.
     */
    list: ['GET', '/auth/key/list', { query: true, paged: true }],
    /**
     * Replace the secret of an API key.
     * `POST /auth/key/{key_id}/rotate`.
     * Permission: key:manage.
     */
    rotate: ['POST', '/auth/key/{key_id}/rotate', { body: 'json' }],
    /**
     * Resume a suspended API key.
     * `POST /auth/key/{key_id}/resume`.
     * Permission: key:manage.
     */
    resume: ['POST', '/auth/key/{key_id}/resume', {}],
    /**
     * Revoke an API key.
     * `DELETE /auth/key/{key_id}`.
     * Permission: key:manage.
     */
    delete: ['DELETE', '/auth/key/{key_id}', {}],
  },
  addressBlocks: {
    /**
     * Block a network.
     * `POST /address-block/create`.
     * Permission: address_block:manage.
     */
    create: ['POST', '/address-block/create', { body: 'json' }],
    /**
     * List address blocks.
     * `GET /address-block/list`.
     * Permission: address_block:manage.
     */
    list: ['GET', '/address-block/list', { query: true, paged: true }],
    /**
     * Remove an address block.
     * `DELETE /address-block/{address_block_id}`.
     * Permission: address_block:manage.
     */
    delete: ['DELETE', '/address-block/{address_block_id}', {}],
  },
  operations: {
    /**
     * List operations.
     * `GET /user/operation/list`.
     * Permission: any login.
     */
    list: ['GET', '/user/operation/list', { query: true, paged: true }],
    /**
     * Follow an operation.
     * `GET /user/operation/{operation_id}`.
     * Permission: any login.
     */
    get: ['GET', '/user/operation/{operation_id}', {}],
    /**
     * Cancel an operation.
     * `POST /user/operation/{operation_id}/cancel`.
     * Permission: any login.
     */
    cancel: ['POST', '/user/operation/{operation_id}/cancel', {}],
    /**
     * Undo an operation.
     * `POST /user/operation/{operation_id}/undo`.
     * Permission: any login.
     */
    undo: ['POST', '/user/operation/{operation_id}/undo', {}],
    /**
     * List or download the rows that an import skipped.
     * `GET /user/operation/{operation_id}/skipped`.
     * Permission: any login.
     */
    skipped: ['GET', '/user/operation/{operation_id}/skipped', { query: true, paged: true }],
  },
  users: {
    /**
     * Modify the users that match a filter.
     * `PATCH /user/all`.
     * Permission: user:update.
     */
    updateAll: ['PATCH', '/user/all', { body: 'json', query: true, idempotent: true }],
    /**
     * Delete the users that match a filter.
     * `DELETE /user/all`.
     * Permission: user:delete.
     */
    deleteAll: ['DELETE', '/user/all', { query: true, idempotent: true }],
    /**
     * Export the users that match a filter.
     * `GET /user/export`.
     * Permission: user:export.
     */
    export: ['GET', '/user/export', { query: true, raw: true }],
    /**
     * Create a one-time link to an export.
     * `POST /user/export/link`.
     * Permission: user:export.
     */
    exportLink: ['POST', '/user/export/link', { query: true }],
    /**
     * Create users from a file.
     * `POST /user/import`.
     * Permission: user:import.
     */
    import: ['POST', '/user/import', { body: 'file', query: true, idempotent: true }],
    /**
     * Create a user.
     * `POST /user/create`.
     * Permission: user:create.
     */
    create: ['POST', '/user/create', { body: 'json', idempotent: true }],
    /**
     * List the users that match a filter.
     * `GET /user/list`.
     * Permission: user:read.
     */
    list: ['GET', '/user/list', { query: true, paged: true }],
    /**
     * Get one user.
     * `GET /user/{user_id}`.
     * Permission: user:read.
     */
    get: ['GET', '/user/{user_id}', {}],
    /**
     * Modify one user.
     * `PATCH /user/{user_id}`.
     * Permission: user:update.
     */
    update: ['PATCH', '/user/{user_id}', { body: 'json' }],
    /**
     * Delete one user.
     * `DELETE /user/{user_id}`.
     * Permission: user:delete.
     */
    delete: ['DELETE', '/user/{user_id}', { query: true }],
    /**
     * Restore a deleted user.
     * `POST /user/{user_id}/restore`.
     * Permission: user:delete.
     */
    restore: ['POST', '/user/{user_id}/restore', {}],
    /**
     * Invite a user again.
     * `POST /user/{user_id}/invite`.
     * Permission: user:update.
     */
    invite: ['POST', '/user/{user_id}/invite', {}],
    /**
     * Get the current user.
     * `GET /user`.
     * Permission: any login.
     */
    me: ['GET', '/user', {}],
    /**
     * List the second factors of a user.
     * `GET /user/{user_id}/factor/list`.
     * Permission: user:read.
     */
    factors: ['GET', '/user/{user_id}/factor/list', {}],
    /**
     * Reset the second factors of a user.
     * `DELETE /user/{user_id}/factor/all`.
     * Permission: user:reset_factors.
     */
    resetFactors: ['DELETE', '/user/{user_id}/factor/all', {}],
    /**
     * Remove a second factor of a user.
     * `DELETE /user/{user_id}/factor/{factor_id}`.
     * Permission: user:reset_factors.
     */
    removeFactor: ['DELETE', '/user/{user_id}/factor/{factor_id}', {}],
    /**
     * Check why a user cannot log in.
     * `GET /user/{user_id}/login-check`.
     * Permission: user:read.
     */
    loginCheck: ['GET', '/user/{user_id}/login-check', {}],
    /**
     * Unlock a user.
     * `POST /user/{user_id}/unlock`.
     * Permission: user:update.
     */
    unlock: ['POST', '/user/{user_id}/unlock', {}],
    /**
     * Secure the account of a user.
     * `POST /user/{user_id}/secure`.
     * Permission: user:update.
     */
    secure: ['POST', '/user/{user_id}/secure', { body: 'json' }],
  },
  carriers: {
    /**
     * List the carriers that have users.
     * `GET /carrier/list`.
     * Permission: user:read.
     */
    list: ['GET', '/carrier/list', { query: true, paged: true }],
  },
  auth: {
    /**
     * Log in.
     * `POST /auth/login`.
     * Permission: none.
     */
    login: ['POST', '/auth/login', { body: 'json' }],
    /**
     * Check and refresh a token.
     * `POST /auth/check-token`.
     * Permission: none.
     */
    checkToken: ['POST', '/auth/check-token', { body: 'json' }],
    /**
     * Log out.
     * `POST /auth/logout`.
     * Permission: none.
     */
    logout: ['POST', '/auth/logout', { body: 'json' }],
    /**
     * Change your own password.
     * `POST /auth/password`.
     * Permission: any login.
     */
    changePassword: ['POST', '/auth/password', { body: 'json' }],
    /**
     * Get the public keys that verify access tokens.
     * `GET /.well-known/jwks.json`.
     * Permission: none.
     */
    keySet: ['GET', '/.well-known/jwks.json', {}],
    /**
     * Introspect a token (RFC 7662).
     * `POST /auth/introspect`.
     * Permission: any login.
     */
    introspect: ['POST', '/auth/introspect', { body: 'form' }],
    /**
     * Get the metadata of the authorization server.
     * `GET /.well-known/oauth-authorization-server`.
     * Permission: none.
     */
    metadata: ['GET', '/.well-known/oauth-authorization-server', {}],
    /**
     * Authenticate again in the current session.
     * `POST /auth/reauthenticate`.
     * Permission: any login.
     */
    reauthenticate: ['POST', '/auth/reauthenticate', { body: 'json' }],
    /**
     * Get the options to authenticate again with a passkey.
     * `POST /auth/reauthenticate/options`.
     * Permission: any login.
     */
    reauthenticateOptions: ['POST', '/auth/reauthenticate/options', {}],
    /**
     * Complete a login with a second factor.
     * `POST /auth/second-factor`.
     * Permission: none.
     */
    secondFactor: ['POST', '/auth/second-factor', { body: 'json' }],
    /**
     * Get the options to complete a login with a passkey.
     * `POST /auth/second-factor/passkey-options`.
     * Permission: none.
     */
    secondFactorPasskeyOptions: ['POST', '/auth/second-factor/passkey-options', { body: 'json' }],
    /**
     * Get the options for a login with a passkey.
     * `POST /auth/passkey/options`.
     * Permission: none.
     */
    passkeyOptions: ['POST', '/auth/passkey/options', {}],
    /**
     * Log in with a passkey.
     * `POST /auth/passkey/login`.
     * Permission: none.
     */
    passkeyLogin: ['POST', '/auth/passkey/login', { body: 'json' }],
    /**
     * Reset a password by e-mail.
     * `POST /auth/reset_email`.
     * Permission: none.
     */
    requestReset: ['POST', '/auth/reset_email', { body: 'json' }],
    /**
     * Check a link to set a password.
     * `GET /auth/reset/{token}`.
     * Permission: none.
     */
    checkReset: ['GET', '/auth/reset/{token}', {}],
    /**
     * Set a password with a link.
     * `POST /auth/reset/{token}`.
     * Permission: none.
     */
    reset: ['POST', '/auth/reset/{token}', { body: 'json' }],
    /**
     * Change your own e-mail address.
     * `POST /auth/email`.
     * Permission: any login.
     */
    changeEmail: ['POST', '/auth/email', { body: 'json' }],
    /**
     * Cancel your new e-mail address.
     * `DELETE /auth/email`.
     * Permission: any login.
     */
    email: ['DELETE', '/auth/email', {}],
    /**
     * Check a link to confirm an address.
     * `GET /auth/email/{token}`.
     * Permission: none.
     */
    checkEmail: ['GET', '/auth/email/{token}', {}],
    /**
     * Confirm an e-mail address.
     * `POST /auth/email/{token}`.
     * Permission: none.
     */
    confirmEmail: ['POST', '/auth/email/{token}', {}],
  },
  factors: {
    /**
     * List your own second factors.
     * `GET /auth/factor/list`.
     * Permission: any login.
     */
    list: ['GET', '/auth/factor/list', {}],
    /**
     * Add an authenticator app.
     * `POST /auth/factor/totp`.
     * Permission: any login.
     */
    addTotp: ['POST', '/auth/factor/totp', { body: 'json' }],
    /**
     * Confirm an authenticator app.
     * `POST /auth/factor/totp/confirm`.
     * Permission: any login.
     */
    confirmTotp: ['POST', '/auth/factor/totp/confirm', { body: 'json' }],
    /**
     * Replace your recovery codes.
     * `POST /auth/factor/recovery-codes`.
     * Permission: any login.
     */
    recoveryCodes: ['POST', '/auth/factor/recovery-codes', {}],
    /**
     * Rename one of your second factors.
     * `PATCH /auth/factor/{factor_id}`.
     * Permission: any login.
     */
    update: ['PATCH', '/auth/factor/{factor_id}', { body: 'json' }],
    /**
     * Remove one of your second factors.
     * `DELETE /auth/factor/{factor_id}`.
     * Permission: any login.
     */
    delete: ['DELETE', '/auth/factor/{factor_id}', {}],
    /**
     * Get the options for a new passkey.
     * `POST /auth/factor/passkey/options`.
     * Permission: any login.
     */
    passkeyOptions: ['POST', '/auth/factor/passkey/options', { body: 'json' }],
    /**
     * Add a passkey.
     * `POST /auth/factor/passkey`.
     * Permission: any login.
     */
    addPasskey: ['POST', '/auth/factor/passkey', { body: 'json' }],
  },
  webhooks: {
    /**
     * Create a webhook.
     * `POST /webhook/create`.
     * Permission: webhook:manage.
     */
    create: ['POST', '/webhook/create', { body: 'json' }],
    /**
     * List webhooks.
     * `GET /webhook/list`.
     * Permission: webhook:manage.
     */
    list: ['GET', '/webhook/list', { query: true, paged: true }],
    /**
     * Get a webhook.
     * `GET /webhook/{webhook_id}`.
     * Permission: webhook:manage.
     */
    get: ['GET', '/webhook/{webhook_id}', {}],
    /**
     * Modify a webhook.
     * `PATCH /webhook/{webhook_id}`.
     * Permission: webhook:manage.
     */
    update: ['PATCH', '/webhook/{webhook_id}', { body: 'json' }],
    /**
     * Delete a webhook.
     * `DELETE /webhook/{webhook_id}`.
     * Permission: webhook:manage.
     */
    delete: ['DELETE', '/webhook/{webhook_id}', {}],
    /**
     * Test a webhook.
     * `POST /webhook/{webhook_id}/test`.
     * Permission: webhook:manage.
     */
    test: ['POST', '/webhook/{webhook_id}/test', {}],
    /**
     * Disable a webhook.
     * `POST /webhook/{webhook_id}/disable`.
     * Permission: webhook:manage.
     */
    disable: ['POST', '/webhook/{webhook_id}/disable', {}],
    /**
     * Enable a webhook.
     * `POST /webhook/{webhook_id}/enable`.
     * Permission: webhook:manage.
     */
    enable: ['POST', '/webhook/{webhook_id}/enable', { body: 'json' }],
    /**
     * Send changes again.
     * `POST /webhook/{webhook_id}/replay`.
     * Permission: webhook:manage.
     */
    replay: ['POST', '/webhook/{webhook_id}/replay', { body: 'json' }],
    /**
     * Skip a change that fails.
     * `POST /webhook/{webhook_id}/skip`.
     * Permission: webhook:manage.
     */
    skip: ['POST', '/webhook/{webhook_id}/skip', {}],
    /**
     * Replace the secret of a webhook.
     * `POST /webhook/{webhook_id}/rotate-secret`.
     * Permission: webhook:manage.
     */
    rotateSecret: ['POST', '/webhook/{webhook_id}/rotate-secret', { body: 'json' }],
    /**
     * List the deliveries of a webhook.
     * `GET /webhook/{webhook_id}/delivery/list`.
     * Permission: webhook:manage.
     */
    deliveries: ['GET', '/webhook/{webhook_id}/delivery/list', { query: true, paged: true }],
    /**
     * Retry a delivery.
     * `POST /webhook/{webhook_id}/delivery/{delivery_id}/retry`.
     * Permission: webhook:manage.
     */
    retryDelivery: ['POST', '/webhook/{webhook_id}/delivery/{delivery_id}/retry', {}],
  },
  stats: {
    /**
     * Get the overview.
     * `GET /stats/overview`.
     * Permission: user:read.
     */
    overview: ['GET', '/stats/overview', {}],
    /**
     * Get the attacks of the last 24 hours.
     * `GET /stats/attacks`.
     * Permission: audit:read.
     */
    attacks: ['GET', '/stats/attacks', {}],
  },
  health: {
    /**
     * Check whether the process is running.
     * `GET /health/live`.
     * Permission: none.
     */
    live: ['GET', '/health/live', {}],
    /**
     * Check whether the service can handle requests.
     * `GET /health/ready`.
     * Permission: none.
     */
    ready: ['GET', '/health/ready', {}],
  },
  mails: {
    /**
     * List waiting and failed mails.
     * `GET /mail/list`.
     * Permission: mail:manage.
     */
    list: ['GET', '/mail/list', { query: true, paged: true }],
    /**
     * Send a waiting or failed mail now.
     * `POST /mail/{mail_id}/retry`.
     * Permission: mail:manage.
     */
    retry: ['POST', '/mail/{mail_id}/retry', {}],
  },
} as const;

/** Codes of problems. Later versions of the service may add codes. */
export type ErrorCode =
  | 'access.denied'
  | 'access.grant_exceeds_own'
  | 'access.protected_user'
  | 'address_block.not_found'
  | 'address_block.own_address'
  | 'address_block.too_many'
  | 'auth.challenge_invalid'
  | 'auth.cross_origin'
  | 'auth.invalid_credentials'
  | 'auth.invalid_second_factor'
  | 'auth.ip_not_allowed'
  | 'auth.key_invalid'
  | 'auth.mail_code_required'
  | 'auth.passkey_unknown'
  | 'auth.password_change_required'
  | 'auth.reauthentication_required'
  | 'auth.scope_exceeded'
  | 'auth.second_factor_enrollment_required'
  | 'auth.second_factor_required'
  | 'auth.token_invalid'
  | 'auth.token_missing'
  | 'auth.too_many_attempts'
  | 'auth.wrong_current_password'
  | 'bulk.expected_mismatch'
  | 'bulk.filter_required'
  | 'bulk.set_changed'
  | 'bulk.too_many'
  | 'change.cursor_expired'
  | 'delivery.not_found'
  | 'email.token_invalid'
  | 'export.link_invalid'
  | 'factor.already_enrolled'
  | 'factor.not_found'
  | 'factor.required'
  | 'factor.too_many'
  | 'idempotency.in_progress'
  | 'idempotency.key_reused'
  | 'key.inactive'
  | 'key.not_found'
  | 'mail.being_sent'
  | 'mail.not_found'
  | 'operation.not_found'
  | 'operation.not_undoable'
  | 'operation.overlaps'
  | 'page.cursor_invalid'
  | 'page.too_deep'
  | 'request.headers_too_large'
  | 'request.invalid'
  | 'request.malformed_json'
  | 'request.not_found'
  | 'request.rate_limited'
  | 'request.too_large'
  | 'request.unsupported_media_type'
  | 'reset.token_invalid'
  | 'role.in_use'
  | 'role.name_taken'
  | 'role.not_found'
  | 'role.version_mismatch'
  | 'service.database_unavailable'
  | 'service.internal_error'
  | 'service.overloaded'
  | 'service.stopping'
  | 'session.not_found'
  | 'user.email_taken'
  | 'user.last_administrator'
  | 'user.name_taken'
  | 'user.no_password'
  | 'user.not_found'
  | 'user.self_protected'
  | 'user.version_mismatch'
  | 'webhook.disabled'
  | 'webhook.not_found'
  | 'webhook.too_many'
  | (string & {});
