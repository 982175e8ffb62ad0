import type { Schema } from '../api/client';
import { fieldLabels } from './fields';

/** Texts of the pages about users. */
export const usersTexts = {
  title: 'Users',
  search: 'Search users',
  fields: {
    ...fieldLabels.en,
    q: 'Search',
    role: 'Role',
    online: 'Online',
    has_second_factor: 'Has a second factor',
    must_enroll_second_factor: 'Must set up a second factor',
  },
  status: { invited: 'Invited', active: 'Active', disabled: 'Disabled' },
  userType: { carrier: 'Carrier User', system: 'System User' },
  views: { label: 'Show', all: 'All', other: 'Other' },
  deleted: 'Deleted',
  locked: 'Locked',
  online: 'Online',
  noRoles: 'No roles',
  none: 'none',
  noValue: 'empty',
  allCarriers: 'all carriers',
  copyId: 'Copy the user ID',
  empty: { title: 'No users yet', hint: 'Create the first user, or import users from a file.' },
  selection: {
    label: 'Selected users',
    count: (count: number) => (count === 1 ? '1 user selected' : `${count} users selected`),
    change: 'Change selected',
    tooMany: (max: number) => `At most ${max} selected users can be changed at once. Use a filter instead.`,
    changeMatching: 'Change all that match',
    changeAll: 'Change many',
    clear: 'Clear selection',
  },
  create: {
    open: 'Create user',
    title: 'Create user',
    optional: (label: string) => `${label} (optional)`,
    clearRoles: 'Remove all roles',
    access: 'First login',
    invite: 'Invite by e-mail',
    inviteHint: 'The user receives a link and chooses a password.',
    password: 'Set an initial password',
    passwordHint: 'You hand over the password. The user must change it at the first login, within 7 days.',
    initialPassword: 'Initial password',
    newCarrier: 'New carrier: it has no users yet.',
    submitInvite: 'Create and invite',
    submit: 'Create user',
    invited: (email: string) => `An invitation is on its way to ${email}.`,
    created: (name: string) => `${name} was created.`,
  },
  tabs: {
    overview: 'Overview',
    data: 'Data',
    roles: 'Roles',
    sessions: 'Sessions',
    factors: 'Second factors',
    history: 'History',
    login: 'Login check',
  },
  overview: {
    account: 'Account',
    sessions: 'Live sessions',
    lastUsed: 'last used',
    noSessions: 'Not logged in',
    factors: 'Second factors',
    noFactors: 'None',
    mustEnroll: 'Must be set up at the next login',
    unconfirmed: (email: string) => `${email} is not confirmed yet`,
    noRights: 'Without roles, the user may do nothing but log in.',
    more: (count: number) => `${count} more`,
    actions: 'Actions by this user',
    edit: 'Edit',
  },
  edit: {
    person: 'Person',
    login: 'Login',
    access: 'Access',
    emailHint: 'A new address takes effect after the user confirms it with a mailed link.',
    emailPending: (email: string) => `Waiting for the confirmation of ${email}.`,
    allowedIpsHint:
      'Addresses or networks from which the user may log in, such as 192.0.2.0/24. Leave empty to allow any address.',
    allCarriers: 'May work with all carriers',
    carrierScopeHint: 'Carriers that the user may work with',
    secondFactorHint: 'Leave empty to follow the roles of the user.',
    attributesHint: 'Custom data as a JSON object',
    attributesInvalid: 'must be a JSON object, such as {"tier": "gold"}',
  },
  roles: { label: 'Roles', hint: 'Changes take effect on the next request of the user.' },
  sessions: {
    empty: 'No live sessions',
    emptyHint: 'The user is not logged in anywhere.',
  },
  factors: {
    kind: { totp: 'Authenticator app', passkey: 'Passkey' },
    empty: 'No second factor',
    emptyHint: 'The user logs in with the password only.',
    mustEnroll: 'A second factor is required. The user must set one up at the next login.',
    recoveryCodes: (count: number) => (count === 1 ? '1 recovery code left' : `${count} recovery codes left`),
    unconfirmed: 'not confirmed',
    added: 'added',
    used: 'used',
    reset: 'Reset second factors',
  },
  history: {
    empty: 'Nothing recorded yet',
    more: 'Show older entries',
    by: 'by',
    byKey: 'by an API key',
    bySystem: 'by the service',
  },
  check: {
    details: 'Show details',
    blocked: 'The user cannot log in',
    restricted: 'The user can log in, with a restriction',
    fine: {
      title: 'Nothing prevents this login',
      text: 'If the user cannot log in, the password is probably wrong. Send a link to set a new one.',
      wrongPassword: 'The last logins failed, most likely with a wrong password. Send a link to set a new one.',
    },
    editData: 'Change the data',
    correct: 'Correct the address',
    correctInvited: 'A new invitation is sent to this address. The link in the older one stops working.',
    correctActive: 'The user gets a link to confirm this address. The old address stays valid until then.',
    correctAndSend: 'Save and send',
    confirming: (email: string) => `A link to confirm ${email} is on its way.`,
    allow: (ip: string) => `Allow ${ip}`,
    allowed: (ip: string) => `The user may now log in from ${ip}.`,
    unblock: 'Remove the block',
    unblocked: (network: string) => `${network} is no longer blocked.`,
    mails: 'Last e-mails',
    noMails: 'No e-mail is waiting, and no mailed link is open.',
    answer: (text: string) => `Response of the mail server: ${text}`,
    mailFailed: (text: string) => `The last e-mail was not delivered: ${text}`,
    refusals: 'Last rejected logins',
    noRefusals: 'No rejected logins are recorded.',
    despite: 'The user can still log in with a passkey.',
    bulk: 'in a bulk change',
    hiddenActor: 'a user you cannot see',
    until: 'Expires',
    since: {
      deleted: 'Deleted',
      disabled: 'Disabled',
      locked: 'Locked',
      codes_locked: 'Locked',
      invited: 'Invited',
      invitation_expired: 'Expired',
      password_voided: 'Secured',
      password_expired: 'Expired',
      address_not_allowed: 'Tried',
      address_blocked: 'Blocked',
      other: 'Since',
    },
    causes: {
      deleted: cause('The user is deleted', () => 'Deleted users cannot log in. Restore the user.'),
      disabled: cause('The user is disabled', () => 'Find out why before you enable the user.'),
      locked: cause(
        'The account is locked',
        ({ failures = 0, unknown_addresses, addresses = [], ip }) =>
          `${failures} wrong passwords in a row${ip === undefined ? '' : `, the last from ${ip}`}. ` +
          (unknown_addresses === true
            ? 'Locked for all addresses from which the user has not logged in within 30 days. '
            : `Locked for ${addresses.join(', ')}. `) +
          'Unlock the account, or send a link to set a new password.',
        true,
      ),
      codes_locked: cause(
        'The second factor is locked',
        ({ failures = 0 }) =>
          `${failures} wrong codes in a row. Recovery codes still work. Unlock the user, ` +
          'or reset the second factors if the device is lost.',
        true,
      ),
      invited: cause('The user has not set a password yet', ({ invitation }) =>
        invitation === 'none'
          ? 'The user was never invited, for example because an import sent no invitations. Send one now.'
          : 'Ask the user to look for the invitation, or send a new one.',
      ),
      invitation_expired: cause(
        'The invitation has expired',
        () => 'The user did not set a password in time. Send a new invitation.',
      ),
      password_voided: cause(
        'The user must choose a new password',
        () => 'The account was secured, and the old password no longer works. The link is in the e-mail about it.',
        true,
      ),
      password_expired: cause(
        'The initial password has expired',
        () => 'It was not used within 7 days. Send a link to set a new one.',
        true,
      ),
      address_not_allowed: cause(
        'The last login came from an address that is not allowed',
        ({ ip = '', allowed_ips = [] }) =>
          `The password was right, but the login came from ${ip}. Allowed: ${allowed_ips.join(', ')}. ` +
          'Allow the address if you trust it.',
      ),
      address_blocked: cause(
        'An address of the user is blocked',
        ({ ip = '', network = 'this address' }) => `Logins from ${ip} are rejected, because ${network} is blocked.`,
      ),
      password_change_required: cause(
        'The password must be changed',
        () => 'The user must choose a new password before anything else works.',
      ),
      second_factor_enrollment_required: cause(
        'A required second factor is missing',
        () => 'The user must set up a second factor before anything else works.',
      ),
    },
  },
  secure: {
    factors: 'Second factors',
    factorsHint: 'One of them may be the stranger’s. Choose those to remove.',
    factorsKept: 'They are kept. You need the permission user:reset_factors to remove one.',
    remove: (name: string) => `Remove ${name}`,
    keys: 'API keys that the user created',
    keysUnknown: 'If the user created any.',
    suspendKeys: 'Suspend them until each is resumed',
    keepKeys: 'Keep them working',
  },
  actions: {
    menu: (name: string) => `Actions for ${name}`,
    invite: action('Send an invitation', (name) => `A new invitation to ${name} is on its way.`),
    resetMail: action('Send a password link', (name) => `A link to set a new password is on its way to ${name}.`),
    unlock: action('Unlock', (name) => `${name} is unlocked.`),
    enable: action('Enable', (name) => `${name} is enabled.`),
    restore: action('Restore', (name) => `${name} is restored.`),
    endSessions: action('End all sessions', (name) => `The sessions of ${name} were ended.`, {
      title: 'End all sessions?',
      question: (name) => `${name} is logged out on all devices. Unsaved work there is lost.`,
      confirm: 'End sessions',
    }),
    resetFactors: action('Reset second factors', (name) => `The second factors of ${name} were removed.`, {
      title: 'Reset the second factors?',
      question: (name) =>
        `All second factors and recovery codes of ${name} are removed, and all sessions end. ` +
        'The user is notified by e-mail. First make sure that the request really comes from the user.',
      confirm: 'Reset',
    }),
    secure: action('Secure account', (name) => `The account of ${name} is secured. A link is on its way.`, {
      title: 'Secure the account?',
      question: (name) =>
        `For an account whose password somebody else may know. The password, mailed links and a proposed address of ` +
        `${name} become void, and all sessions end. The user gets a link to choose a new password.`,
      confirm: 'Secure account',
    }),
    disable: action('Disable', (name) => `${name} is disabled.`, {
      title: 'Disable the user?',
      question: (name) => `${name} can no longer log in, and all sessions end. You can enable the user again.`,
      confirm: 'Disable',
    }),
    purge: action('Delete permanently', (name) => `${name} was deleted permanently.`, {
      title: 'Delete the user permanently?',
      question: (name) =>
        `${name} and the personal data in the audit log are deleted. ` +
        'This cannot be undone: the user cannot be restored.',
      confirm: 'Delete permanently',
    }),
    delete: action('Delete', (name) => `${name} was deleted. Deleted users are in the list under “Deleted”.`, {
      title: 'Delete the user?',
      question: (name) =>
        `${name} can no longer log in, all sessions end, and the name and the e-mail address become available. ` +
        'You can restore the user later.',
      confirm: 'Delete',
    }),
  },
};

interface Question {
  title: string;
  question: (name: string) => string;
  confirm: string;
}

function action(
  label: string,
  done: (name: string) => string,
  question: Question = { title: label, question: (name) => name, confirm: label },
): Question & { label: string; done: (name: string) => string } {
  return { label, done, ...question };
}

/** The texts of a reason why a user cannot log in. */
interface CauseTexts {
  title: string;
  text: (evidence: Schema<'CauseEvidenceResponse'>) => string;
  /** whether a passkey logs the user in despite the cause */
  isPasskeyEnough: boolean;
}

/** Returns the texts of a reason why a user cannot log in. */
export function cause(title: string, text: CauseTexts['text'], isPasskeyEnough = false): CauseTexts {
  return { title, text, isPasskeyEnough };
}
