import type { MailTexts } from '../mail-name';

/** The mails in English. */
export const en: MailTexts = {
  labels: {
    name: 'Login name',
    carrier: 'Carrier',
    factor: 'Second factor',
    codes_left: 'Recovery codes left',
    keys: 'API key that still works',
    suspended_keys: 'Suspended API key',
    webhook: 'Webhook',
    time: 'Time',
    ip: 'IP address',
    device: 'Device',
    changed_by: 'Changed by',
    unknown: 'unknown',
    administration: 'an administrator',
    factors: { totp: 'Authenticator app', passkey: 'Passkey' },
  },
  not_me: {
    button: 'This was not me',
    paragraphs: [
      'If you did not do this, set a new password with the link below. The link works once and expires within ' +
        '{duration}. Setting the password also ends all sessions, restores this e-mail address, and removes all ' +
        'second factors and API keys that were added since the first e-mail with this link.',
      'Then contact your administrator.',
    ],
  },
  invitation: {
    subject: 'Your invitation',
    paragraphs: [
      'An account was created for this e-mail address.',
      'Set your password with the link below. The link works once and expires in {duration}.',
    ],
    button: 'Set the password',
  },
  reset: {
    subject: 'Set a new password',
    paragraphs: [
      'A new password was requested for your account.',
      'The link below works once and expires in {duration}.',
      'If you did not request this, you can ignore this e-mail. Your password stays the same.',
    ],
    button: 'Set a new password',
  },
  secured: {
    subject: 'Your account was secured: choose a new password',
    paragraphs: [
      'An administrator secured your account, because someone else may know your password. ' +
        'Your password no longer works, and all your sessions were ended.',
      'Choose a new password with the link below. The link works once and expires in {duration}.',
    ],
    button: 'Choose a new password',
  },
  'password-changed': {
    subject: 'Your password was changed',
    paragraphs: [
      'The password of your account was changed, and your other sessions were ended.',
      'If you did not do this, set a new password immediately and contact your administrator.',
    ],
  },
  'email-confirmation': {
    subject: 'Confirm your e-mail address',
    paragraphs: [
      'This address was entered as the new e-mail address of an account.',
      'Confirm it with the link below. The link works once and expires in {duration}.',
      'If you did not request this, you can ignore this e-mail.',
    ],
    button: 'Confirm the address',
  },
  'email-change-notice': {
    subject: 'A new e-mail address was proposed',
    paragraphs: [
      'A new e-mail address was entered for your account. It takes effect when it is confirmed.',
      'If you did not request this, set a new password and contact your administrator.',
    ],
  },
  'token-reuse': {
    subject: 'A session was ended for your security',
    paragraphs: [
      'A token of one of your sessions was used twice. It may have been copied, so the session was ended.',
      'Log in again. If this happens more than once, change your password and contact your administrator.',
    ],
  },
  'factor-enrolled': {
    subject: 'A second factor was added to your account',
    paragraphs: [
      'A second factor was added to your account. ' +
        'From now on, you need one of your second factors or a recovery code to log in with your password.',
      'If you did not do this, contact your administrator immediately and set a new password.',
    ],
  },
  'factor-removed': {
    subject: 'A second factor was removed from your account',
    paragraphs: [
      'A second factor was removed from your account, and your other sessions were ended.',
      'If you did not do this, set a new password immediately and contact your administrator.',
    ],
  },
  'factors-reset': {
    subject: 'The second factors of your account were reset',
    paragraphs: [
      'All second factors and recovery codes of your account were removed, and your sessions were ended.',
      'Set up a new second factor after your next login.',
      'If you did not ask for this, contact your administrator immediately.',
    ],
  },
  'recovery-code-used': {
    subject: 'A recovery code of your account was used',
    paragraphs: [
      'A recovery code was used in place of a second factor. It cannot be used again.',
      'If you did not do this, set a new password immediately, create new recovery codes ' +
        'and contact your administrator.',
    ],
  },
  'recovery-codes-low': {
    subject: 'A recovery code was used: create new ones',
    paragraphs: [
      'A recovery code was used in place of a second factor. It cannot be used again.',
      'At most two recovery codes are left. Create new ones before you need them.',
      'If you did not use the recovery code, set a new password immediately, create new recovery codes ' +
        'and contact your administrator.',
    ],
  },
  'recovery-codes-renewed': {
    subject: 'New recovery codes were created',
    paragraphs: [
      'New recovery codes were created for your account. The old recovery codes no longer work.',
      'If you did not do this, contact your administrator immediately and set a new password.',
    ],
  },
  'passkey-counter': {
    subject: 'A passkey of your account was rejected',
    paragraphs: [
      'A passkey of your account was rejected because its signature counter is lower than before. ' +
        'The passkey may have been copied.',
      'Remove the passkey and add a new one. If you did not use the passkey, contact your administrator immediately.',
    ],
  },
  'second-step-missing': {
    subject: 'A login to your account was not completed',
    paragraphs: [
      'The right password of your account was entered, but the second step of the login did not follow. ' +
        'The login was not completed.',
      'If this was not you, someone else knows your password. Set a new password immediately.',
    ],
  },
  'new-address-login': {
    subject: 'Login from a new address',
    paragraphs: [
      'Someone logged in to your account from an IP address that was not used to log in during the last 30 days.',
      'If this was not you, set a new password immediately and contact your administrator. ' +
        'A new password ends your other sessions.',
    ],
  },
  'webhook-disabled': {
    subject: 'A webhook was disabled',
    paragraphs: [
      'A webhook that you created was disabled. Its target responded with 410 or did not accept a request for three ' +
        'days, or you may no longer read what the webhook sends. The webhook no longer sends changes to the target.',
      'The list of webhooks shows the reason. To continue where the webhook stopped, enable it there.',
    ],
  },
  'enrollment-code': {
    subject: 'Your code to set up a second factor',
    paragraphs: [
      'To set up a second factor for your account, enter this code:',
      '{code}',
      'The code expires in {duration}. Do not pass it on.',
      'If you did not log in, someone else knows your password. Set a new password immediately.',
    ],
  },
  test: {
    subject: 'Test e-mail',
    paragraphs: ['This e-mail tests the mail server. If you can read it, you receive the e-mails of this service.'],
  },
};
