import type { MailTexts } from '../mail-name';

/** The mails in English. */
export const en: MailTexts = {
  invitation: {
    subject: 'Your invitation',
    paragraphs: [
      'A login was created for this e-mail address.',
      'Set your password with the link below. It works once, for {duration}.',
    ],
    button: 'Set the password',
  },
  reset: {
    subject: 'Set a new password',
    paragraphs: [
      'Somebody, probably you, asked to set a new password.',
      'The link below works once, for {duration}. If it was not you, do nothing: your password stays as it is.',
    ],
    button: 'Set a new password',
  },
  'password-changed': {
    subject: 'Your password was changed',
    paragraphs: [
      'The password of your login was changed, and your other sessions were ended.',
      'If it was not you, set a new password at once and tell your administrator.',
    ],
  },
  'email-confirmation': {
    subject: 'Confirm your e-mail address',
    paragraphs: [
      'This address was proposed as the new address of a login.',
      'The link below confirms it. It works once, for {duration}. If you know nothing of it, do nothing.',
    ],
    button: 'Confirm the address',
  },
  'email-change-notice': {
    subject: 'A new e-mail address was proposed',
    paragraphs: [
      'Another e-mail address was proposed for your login. It counts once its owner confirms it; until then everything stays as it is.',
      'If it was not you, set a new password and tell your administrator.',
    ],
  },
  'token-reuse': {
    subject: 'A session was ended for your safety',
    paragraphs: [
      'A used-up token of one of your sessions came back. Somebody may have copied it, so the session was ended.',
      'Log in again. If you see this more than once, change your password and tell your administrator.',
    ],
  },
};
