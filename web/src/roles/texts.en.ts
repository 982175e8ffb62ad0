/** Texts of the pages about roles. */
export const rolesTexts = {
  title: 'Roles',
  description:
    'A role gives its permissions to every user who has it. Changes take effect on the next request of these users.',
  create: 'Create role',
  createTitle: 'Create a role',
  builtIn: 'Built-in',
  /** what built-in roles are for; the API describes them in English */
  builtInPurposes: {
    administrator: 'Everything',
    operator: 'Users, sessions, audit log, e-mails and blocked networks, without permanent deletion',
    auditor: 'Reads everything',
    carrier_administrator: 'Users and sessions of their carrier',
    carrier_user: 'Uses the services',
  } as Record<string, string>,
  empty: 'There are no roles',
  search: 'Search roles',
  columns: { name: 'Name', user_types: 'For', permissions: 'Permissions', second_factor: 'Second factor' },
  userTypes: { system: 'System Users', carrier: 'Carrier Users' },
  sections: { general: 'General', permissions: 'Permissions', grants: 'Roles', secondFactor: 'Second factor' },
  name: 'Name',
  nameHint: 'Letters, digits, dots, hyphens and underscores. The name cannot be changed later.',
  nameRule:
    'Use at most 64 letters, digits, dots, hyphens or underscores, not starting with a dot. ' +
    '“list” and “create” are reserved.',
  purpose: 'Description',
  purposeHint: 'What the role is for',
  types: 'Can be granted to',
  typesRequired: 'Choose at least one',
  typesInUse: 'A user of the type that you removed has this role. Remove the role from these users first.',
  permissionsHint: 'Permissions on users, sessions and keys apply within the scope of the user who has the role.',
  mayGrant: 'May grant these roles',
  mayGrantHint: 'In addition, users may grant roles whose permissions they have themselves.',
  noGrants: 'None, except roles whose permissions the user has',
  factorRequired: 'Require a second factor',
  factorHint: 'From the chosen time on, users without a second factor must set one up right after the login.',
  factorFrom: 'From',
  notRequired: 'Not required',
  since: 'Required since',
  from: 'Required from',
  saved: 'The role is saved. Changes take effect on the next request of its users.',
  created: (name: string) => `The role ${name} is created.`,
  deleted: (name: string) => `The role ${name} is deleted.`,
  readOnly: 'This role has permissions that you do not have, so you cannot change it.',
  members: {
    title: 'Users with this role',
    none: 'No user has this role yet.',
    showAll: (total: string) => `Show all ${total}`,
    add: 'Add users',
    addTo: (role: string) => `Grant the role ${role}`,
    search: 'Search users by name, e-mail or job title',
    found: (count: number, more: boolean) =>
      `${count} ${count === 1 ? 'user' : 'users'} found${more ? '. Narrow the search to see others.' : ''}`,
    selectAll: (count: number) => `Select all ${count}`,
    submit: (count: number) => (count === 0 ? 'Add users' : `Add ${count} ${count === 1 ? 'user' : 'users'}`),
    added: (changed: number, chosen: number) =>
      changed === chosen
        ? `${changed} ${changed === 1 ? 'user now has' : 'users now have'} the role.`
        : `${changed} of ${chosen} users got the role. The others are unchanged.`,
  },
  holders: (count: string, one: boolean) => `${count} ${one ? 'user has' : 'users have'} this role`,
  noHolders: 'No user has this role',
  delete: 'Delete role',
  deleteBlocked: (name: string) => `The role ${name} is still in use`,
  deleteTitle: (name: string) => `Delete the role ${name}?`,
  deleteText: 'No user has this role. Deleted users who had it are restored without it. This cannot be undone.',
  deleteUnknown: 'Deleted users who had this role are restored without it. This cannot be undone.',
  deleteInUse: (count: string, one: boolean) =>
    one
      ? `${count} user has this role and would lose its permissions. Remove the role from the user first.`
      : `${count} users have this role and would lose its permissions. Remove the role from them first.`,
  deleteGranted: (roles: string) => `Users with these roles may grant it: ${roles}. Remove it there first.`,
  showHolders: 'Show the users',
};
