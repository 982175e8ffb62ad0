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
    open: 'New user',
    title: 'New user',
    optional: (label: string) => `${label} (optional)`,
    clearRoles: 'Remove all roles',
    access: 'First login',
    invite: 'Invite by e-mail',
    inviteHint: 'The user receives a link and chooses a password.',
    password: 'Set an initial password',
    passwordHint: 'You hand over the password. The user must change it at the first login, within 7 days.',
    initialPassword: 'Initial password',
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
    by: 'by',
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
  },
  check: {
    why: 'Why can this user not log in?',
    editData: 'Change the data',
    editRoles: 'Change the roles',
    showHistory: 'See who disabled the user',
    failures: 'Last failed logins',
    noFailures: 'No failed logins are recorded.',
    fine: {
      title: 'Nothing prevents this login',
      text: 'If the user cannot log in, the password is probably wrong. Send a link to set a new one.',
      wrongPassword: 'The last logins failed, most likely with a wrong password. Send a link to set a new one.',
    },
    limited: {
      title: 'Some reasons are hidden from you',
      text:
        'Failed logins and the lockouts that they cause are in the audit log. You need the permission audit:read to ' +
        'see them. An administrator can unlock the user after too many failures, or send a link to set a new password.',
    },
    obstacles: {
      deleted: { title: 'The user is deleted', text: () => 'Deleted users cannot log in. Restore the user.' },
      disabled: { title: 'The user is disabled', text: () => 'Find out why before you enable the user.' },
      locked: {
        title: 'The account is locked',
        text: () => 'Too many wrong passwords. Unlock the account, or wait until the lockout ends.',
      },
      lockedUntilReset: {
        title: 'The account is locked until the password is reset',
        text: () => 'Far too many wrong passwords. Send a link to set a new password.',
      },
      lockedAddress: {
        title: 'The account is locked for one address',
        text: ([ip]: string[]) => `Too many wrong passwords from ${ip ?? ''}.`,
      },
      lockedCodes: {
        title: 'The second factor is locked',
        text: () => 'Too many wrong codes. Unlock the user, or reset the second factors if the device is lost.',
      },
      invited: {
        title: 'The user has not set a password yet',
        text: () =>
          'Ask the user to look for the invitation, or send a new one. ' +
          'An import sends invitations only if this option was chosen.',
      },
      invitationOld: {
        title: 'The invitation has probably expired',
        text: () =>
          'The user has no password yet, and invitations are valid for 7 days by default. Invite the user again.',
      },
      initialPasswordExpired: {
        title: 'The initial password has probably expired',
        text: () => 'It was set more than 7 days ago and has never been used. Send a link to set a new one.',
      },
      addressRejected: {
        title: 'The last login came from an address that is not allowed',
        text: ([ip, ...allowed]: string[]) =>
          `It came from ${ip ?? ''}. Allowed: ${allowed.join(', ')}. Add the address if you trust it.`,
      },
      addressesLimited: {
        title: 'Logins are limited to some addresses',
        text: (allowed: string[]) => `Allowed: ${allowed.join(', ')}.`,
      },
      mustEnroll: {
        title: 'A required second factor is missing',
        text: () => 'The user can log in, but must set up a second factor before anything else works.',
      },
      secondFactor: {
        title: 'A second factor is required',
        text: () => 'If the user lost the device and the recovery codes, reset the second factors.',
      },
      mustChangePassword: {
        title: 'The password must be changed',
        text: () => 'The user can log in, but must choose a new password before anything else works.',
      },
    },
    time: {
      deleted: 'Deleted',
      locked: 'Ends',
      lockedAddress: 'Ends',
      lockedCodes: 'Ends',
      invited: 'Invited',
      invitationOld: 'Invited',
      initialPasswordExpired: 'Set',
      addressRejected: 'Tried',
    } as Record<string, string>,
    cause: { 'login.failed': 'Wrong password', 'login.second_factor_failed': 'Wrong second factor' } as Record<
      string,
      string
    >,
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
