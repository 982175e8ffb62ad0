/**
 * Texts of the pages behind mailed links, in English. `{min}` is the minimum length of a password,
 * `{count}` the number of missing characters, and `{product}` the name of the portal.
 */
export const en = {
  titles: {
    'reset-form': 'Set your password',
    'reset-done': 'Your password is set',
    'email-form': 'Confirm your e-mail address',
    'email-done': 'Your e-mail address is confirmed',
  },
  password: {
    label: 'New password',
    hint: 'At least {min} characters. Use a long phrase; all characters are allowed.',
    button: 'Set the password',
    show: 'Show password',
    hide: 'Hide password',
  },
  feedback: {
    short: 'Too short. Missing characters: {count}',
    simple: 'Too simple. Use a greater variety of characters.',
    identity: 'Must not contain your login name.',
    good: 'Long enough.',
  },
  confirm: { text: 'Click the button to start using this e-mail address.', button: 'Confirm the address' },
  /** text of the form of a link that undoes changes */
  undo:
    'The new password also ends all sessions, restores the e-mail address to which the link was mailed, and ' +
    'removes second factors and API keys that were added since the first change that you undo.',
  done: 'You can close this page and log in.',
  portal: 'Continue to {product}',
  /** link to the page of the console that mails another link */
  newLink: 'Request a new link',
  expired: 'This link is no longer valid',
  failed: 'The request failed',
  /** by error code; `other` for all other codes */
  errors: {
    'reset.token_invalid': 'The link was already used or replaced, has expired, or is incomplete. Request a new link.',
    'email.token_invalid':
      'The link was already used or replaced, has expired, or is incomplete. Request the address change again.',
    'user.email_taken': 'Another user has this e-mail address.',
    'auth.too_many_attempts': 'Too many attempts. Wait a minute and try again.',
    'request.rate_limited': 'Too many requests. Wait a minute and try again.',
    other: 'Open the link in the e-mail again.',
  },
  /** by code of the fault; `other` for all other codes */
  faults: {
    'password.too_short': 'The password must have at least {min} characters.',
    'password.too_long': 'The password must have at most 256 characters.',
    'password.common': 'The password is too common.',
    'password.contains_identity':
      'The password must not contain the name, the e-mail address, the carrier or the product name.',
    'password.breached': 'The password is in a list of stolen passwords. Choose another one.',
    'password.too_weak': 'The password is too easy to guess. Add a few uncommon words.',
    'field.required': 'The password is required.',
    other: 'The password contains characters that are not allowed, or the form is incomplete.',
  },
};

/** Texts of the pages, in one language. */
export type PageTexts = typeof en;
/** Names of the pages. */
export type PageName = keyof PageTexts['titles'];
