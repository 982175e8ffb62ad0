/** Error codes of logins, tokens, second factors and the cookie transport; part of `errorCodes`. */
export const authErrorCodes = {
  'auth.token_missing': {
    status: 401,
    title: 'A token is required',
    meaning: 'Send an access token as `Authorization: Bearer …` or `X-Auth-Token: …`.',
  },
  'auth.token_invalid': {
    status: 401,
    title: 'The token is not valid',
    meaning: 'The token is malformed, expired or revoked, or its session has ended. Log in again.',
  },
  'auth.key_invalid': {
    status: 401,
    title: 'The API key is not valid',
    meaning:
      'The API key is unknown, has expired, was revoked, or does not belong to `client_id`. Logging in again does ' +
      'not help: use another API key.',
  },
  'auth.scope_exceeded': {
    status: 400,
    title: 'Exceeds the limits of the login',
    meaning:
      '`audience` and `permissions` must be within the permissions of the user and the limits of the session. ' +
      'A refresh can only narrow them. Log in again to get more.',
  },
  'auth.invalid_credentials': {
    status: 401,
    title: 'Wrong login or password',
    meaning: 'Login and password do not match a user who is allowed to log in.',
  },
  'auth.reauthentication_required': {
    status: 401,
    title: 'A recent authentication is required',
    meaning:
      'The last authentication of the session is too old for this operation. Call `POST /auth/reauthenticate` and ' +
      'repeat the request. A refreshed token does not help.',
  },
  'auth.second_factor_required': {
    status: 401,
    title: 'A second factor is required',
    meaning:
      'The password is right, and the user has a second factor. Send `challenge` with a code, recovery code or ' +
      'passkey to `POST /auth/second-factor` within `expires_in` seconds. `factors` lists what the user can use.',
  },
  'auth.challenge_invalid': {
    status: 401,
    title: 'The challenge is no longer valid',
    meaning:
      'The challenge was used, has expired, was rejected too often or does not exist, or the user changed since. ' +
      'Log in again, or request new passkey options.',
  },
  'auth.invalid_second_factor': {
    status: 401,
    title: 'Wrong code',
    meaning:
      'The code is wrong or was used before. Wait for the next code of the authenticator app, or use another ' +
      'second factor.',
  },
  'auth.cross_origin': {
    status: 403,
    title: 'Cookie transport not allowed',
    meaning:
      '`transport: "cookie"` works only in pages that the service itself serves. Other clients omit `transport` and ' +
      'get the refresh token in the body.',
  },
  'auth.second_factor_enrollment_required': {
    status: 403,
    title: 'Second factor must be enrolled',
    meaning:
      'Enrol a second factor with `POST /auth/factor/totp` or `POST /auth/factor/passkey`. Until then, only your ' +
      'own user, factors, reauthentication, your own password, logout and check-token are available.',
  },
  'auth.mail_code_required': {
    status: 403,
    title: 'Code from the mail required',
    meaning:
      'To enrol the first factor, this user needs `mail_code`: the eight digits that were mailed at the login. ' +
      'The code is missing, wrong or expired. Log in again to get a new code. A code is mailed at most once in 5 ' +
      'minutes.',
  },
  'auth.passkey_unknown': {
    status: 401,
    title: 'The passkey is not known',
    meaning:
      'The passkey does not belong to a user who is allowed to log in, or its response is not valid. Try again with ' +
      'new options, or use another way to log in.',
  },
  'factor.not_found': {
    status: 404,
    title: 'Second factor not found',
    meaning: 'The user has no second factor with this id, or none at all. Unconfirmed factors expire after 10 minutes.',
  },
  'factor.required': {
    status: 409,
    title: 'Last second factor cannot be removed',
    meaning: 'The user must have a second factor, and this is the last one. Add another factor first.',
  },
  'factor.too_many': {
    status: 409,
    title: 'Too many second factors',
    meaning: 'The user has the maximum number of second factors of this kind. Remove one first.',
  },
  'factor.already_enrolled': {
    status: 409,
    title: 'Passkey already enrolled',
    meaning: 'This passkey is already a second factor. Create another passkey.',
  },
  'auth.wrong_current_password': {
    status: 400,
    title: 'The current password is wrong',
    meaning: 'The password is not the password of the user. The attempt counts as a failed login.',
  },
  'auth.ip_not_allowed': {
    status: 403,
    title: 'IP address not allowed',
    meaning: 'The user may log in only from the addresses in `allowed_ips`.',
  },
  'auth.password_change_required': {
    status: 403,
    title: 'Password change required',
    meaning: 'Change the password with `POST /auth/password`. Until then, few operations are available.',
  },
  'auth.too_many_attempts': {
    status: 429,
    title: 'Too many attempts',
    meaning:
      'Too many logins or resets from this address, a block of its network, or too many wrong passwords or codes in ' +
      'a row. Wait for `Retry-After`. Setting a new password with a mailed link also ends the lockout after wrong ' +
      'passwords.',
    retry_after_seconds: 60,
  },
} as const;
