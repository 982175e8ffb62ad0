import type { MailTexts } from '../mail-name';

/** The mails in English. */
export const en: MailTexts = {
  labels: {
    name: 'Login name',
    carrier: 'Carrier',
    time: 'Time',
    ip: 'IP address',
    device: 'Device',
    changed_by: 'Changed by',
    unknown: 'unknown',
    administration: 'an administrator',
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
  test: {
    subject: 'Test e-mail',
    paragraphs: ['This e-mail tests the mail server. If you can read it, you receive the e-mails of this service.'],
  },
};
