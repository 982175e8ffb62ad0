import { fieldLabels } from '../users/fields';

const users = (count: string) => (count === '1' ? '1 user' : `${count} users`);

/** Texts of bulk changes. */
export const bulkTexts = {
  back: 'Users',
  title: 'Change many users',
  text: 'Choose the changes, check the preview, then confirm. Nothing changes before you confirm.',
  selection: 'Which users',
  everyone: 'All users that you may see',
  everyoneHint: 'No filter is set. Add a filter unless you mean all users.',
  selected: (count: string) => `${users(count)} selected in the list`,
  matching: 'All users that match these conditions',
  what: 'Action',
  modes: { change: 'Change fields', disable: 'Disable', invite: 'Send invitations', delete: 'Delete' },
  hints: {
    disable: 'The users are logged out and cannot log in until you enable them. You can undo this for 30 days.',
    invite:
      'Users who have not accepted their invitation yet get a new link, and their older link stops working. ' +
      'All others are skipped.',
    delete: 'The users are logged out and cannot log in again. You can undo this for 30 days.',
  },
  addChange: 'Add a field',
  removeChange: (field: string) => `Do not change ${field}`,
  clears: 'Leave empty to clear the field.',
  listHint: 'Press Enter after each entry.',
  allCarriers: 'All carriers',
  asRoles: 'Leave empty to follow the roles of the users.',
  attributesHint: 'A JSON object that is merged into the attributes; null removes a key.',
  attributesWrong: 'This is not a JSON object.',
  resetFactors: 'The users must set up their second factors again. This cannot be undone.',
  secure:
    'For accounts whose passwords somebody else may know. Passwords and links become void, and the users get a link ' +
    'to choose a new password. Second factors and API keys are kept. This cannot be undone.',
  invite:
    'Users who have not accepted their invitation yet get a new link, and their older link stops working. ' +
    'This cannot be undone.',
  preview: 'Preview',
  previewAgain: 'Preview again',
  changed: 'The matching users changed in the meantime. Nothing was changed. Check the new preview.',
  result: 'Preview',
  figures: {
    matched: 'Match',
    unchanged: 'Already have these values',
    skipped: 'Will be skipped',
    with_factors: 'Keep second factors',
    with_keys: 'Keep API keys',
  },
  would: { change: 'Will change', disable: 'Will be disabled', invite: 'Will be invited', delete: 'Will be deleted' },
  mails: (count: string, duration: string) =>
    count === '1' ? 'One e-mail will be sent.' : `${count} e-mails will be sent. This takes about ${duration}.`,
  nothing: 'No user would change.',
  sample: (shown: string, total: string) => `Sample: ${shown} of ${total}`,
  skipped: 'Who is skipped, and why',
  submit: {
    change: (count: string) => `Change ${users(count)}…`,
    disable: (count: string) => `Disable ${users(count)}…`,
    invite: (count: string) => `Send invitations to ${users(count)}…`,
    delete: (count: string) => `Delete ${users(count)}…`,
  },
  confirmTitle: {
    change: (count: string) => `Change ${users(count)}?`,
    disable: (count: string) => `Disable ${users(count)}?`,
    invite: (count: string) => `Send invitations to ${users(count)}?`,
    delete: (count: string) => `Delete ${users(count)}?`,
  },
  confirmLabel: { change: 'Change', disable: 'Disable', invite: 'Send invitations', delete: 'Delete' },
  logouts: {
    all: 'The users are logged out and cannot log in.',
    secured: 'The users are logged out, and cannot log in with their old passwords.',
    factors: 'Users who have second factors are logged out.',
    addresses: 'Sessions from other addresses end.',
  },
  confirmText: 'You can undo this for 30 days from the list of operations.',
  confirmFinalText: 'This cannot be undone.',
  confirmResetText: 'An undo does not restore removed second factors.',
  columns: { name: 'Name', email: 'E-mail address', change: 'Change' },
  arrow: 'becomes',
  fields: {
    ...fieldLabels.en,
    roles_add: 'Add roles',
    roles_remove: 'Remove roles',
    carrier_scope: 'Limited to carriers',
    reset_second_factors: 'Reset second factors',
    secure: 'Secure accounts',
    invite: 'Send invitations',
  },
  replaceRoles: 'Replace all roles',
};
