import { pluralIn } from '../texts/plural';

const plural = pluralIn('en');

/** Texts of the page about e-mails. */
export const mailsTexts = {
  title: 'Unsent e-mails',
  description:
    'E-mails to users that are waiting, are being retried or have failed. A failed e-mail is sent again only if you ' +
    'request it.',
  fields: {
    mail_id: 'E-mail ID',
    kind: 'E-mail',
    state: 'Status',
    failing: 'Failed twice or rejected',
    user_id: 'User',
    carrier_id: 'Carrier',
    recipient: 'Recipient',
    last_error: 'Last error',
    created_at: 'Requested',
    next_attempt_at: 'Next attempt',
  },
  kinds: {
    invitation: 'Invitation',
    reset: 'Password reset',
    'email-confirmation': 'Confirmation of an address',
    'enrollment-code': 'Enrollment code',
    'password-changed': 'Password changed',
    'email-change-notice': 'Notice of a new address',
    'token-reuse': 'Refresh token replayed',
    'factor-enrolled': 'Second factor set up',
    'factor-removed': 'Second factor removed',
    'factors-reset': 'Second factors reset',
    'recovery-code-used': 'Recovery code used',
    'recovery-codes-low': 'Few recovery codes left',
    'recovery-codes-renewed': 'Recovery codes renewed',
    'passkey-counter': 'Passkey possibly cloned',
    'second-step-missing': 'Second step missing',
    'new-address-login': 'Login from a new address',
    'webhook-disabled': 'Webhook disabled',
    secured: 'Account secured',
  },
  states: { waiting: 'Waiting', retrying: 'Retrying', sending: 'Sending', failed: 'Failed', sent: 'Sent' },
  attempts: (count: number) => plural(count, '# attempt', '# attempts'),
  noError: 'none',
  noAttempt: 'none scheduled',
  retry: 'Send again',
  retryOf: (kind: string, recipient: string) => `Send again: ${kind} to ${recipient}`,
  retried: 'The e-mail is sent again within seconds.',
  empty: 'All e-mails are sent',
  emptyHint: 'Waiting and failed e-mails appear here. The overview counts failed e-mails.',
};
