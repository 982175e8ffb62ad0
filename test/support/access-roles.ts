/** The owner of the requested resource in relation to the caller. */
export const relations = ['own', 'same carrier', 'other carrier', 'system user', 'missing'] as const;
/** One of `relations`. */
export type Relation = (typeof relations)[number];

/** A role in the matrix. */
export interface Role {
  fields: Record<string, unknown>;
  holds: 'all' | string[];
  /** users that the role may see */
  sees: Relation[];
  /** users with roles that the role may not grant */
  mayNotChange: Relation[];
  /** allows nothing until the password is changed */
  mustChangePassword?: true;
  /** allows little until a second factor is enrolled */
  mustEnroll?: true;
}

/**
 * The common permissions of `operator` and `carrier_administrator`; operators also import and
 * export.
 */
const manages = [
  'user:read',
  'user:read_deleted',
  'user:create',
  'user:update',
  'user:delete',
  'user:reset_factors',
  'session:read',
  'session:revoke',
  'role:read',
];
const transfers = [...manages, 'user:import', 'user:export'];
const everyUser: Relation[] = ['own', 'same carrier', 'other carrier', 'system user'];
const ownCarrier: Relation[] = ['own', 'same carrier'];
const system = { user_type: 'system' };

/**
 * The roles of the matrix. The user of the same carrier (`c1`) is a `carrier_user`, the one of
 * another carrier (`c2`) a `carrier_administrator`, and the System User an `administrator`.
 */
export const roleRows: Record<string, Role> = {
  administrator: { fields: { ...system, roles: ['administrator'] }, holds: 'all', sees: everyUser, mayNotChange: [] },
  'scoped administrator': {
    fields: { ...system, roles: ['administrator'], carrier_scope: ['c1'] },
    holds: 'all',
    sees: ownCarrier,
    mayNotChange: [],
  },
  operator: {
    fields: { ...system, roles: ['operator'] },
    holds: transfers,
    sees: everyUser,
    mayNotChange: ['system user'],
  },
  'scoped operator': {
    fields: { ...system, roles: ['operator'], carrier_scope: ['c1'] },
    holds: transfers,
    sees: ownCarrier,
    mayNotChange: [],
  },
  auditor: {
    fields: { ...system, roles: ['auditor'] },
    holds: ['user:read', 'user:read_deleted', 'session:read', 'role:read', 'audit:read'],
    sees: everyUser,
    mayNotChange: ['other carrier', 'system user'],
  },
  'System User without roles': {
    fields: system,
    holds: [],
    sees: everyUser,
    mayNotChange: ['other carrier', 'system user'],
  },
  'custom role support': {
    fields: { ...system, roles: ['support'] },
    holds: ['user:read', 'user:update', 'session:revoke', 'key:manage', 'token:introspect'],
    sees: everyUser,
    mayNotChange: ['other carrier', 'system user'],
  },
  carrier_administrator: {
    fields: { roles: ['carrier_administrator'] },
    holds: manages,
    sees: ownCarrier,
    mayNotChange: [],
  },
  carrier_user: { fields: { roles: ['carrier_user'] }, holds: [], sees: ownCarrier, mayNotChange: [] },
  'custom role carrier_auditor': {
    fields: { roles: ['carrier_auditor'] },
    holds: ['user:read', 'session:read', 'audit:read', 'user:delete', 'key:manage', 'token:introspect'],
    sees: ownCarrier,
    mayNotChange: [],
  },
  'administrator who must change the password': {
    fields: { ...system, roles: ['administrator'], must_change_password: true },
    holds: 'all',
    sees: everyUser,
    mayNotChange: [],
    mustChangePassword: true,
  },
  'administrator who must enrol a second factor': {
    fields: { ...system, roles: ['administrator'], second_factor_required_from: '2020-01-01T00:00:00Z' },
    holds: [],
    sees: everyUser,
    mayNotChange: ['system user'],
    mustEnroll: true,
  },
};

/** Roles that the platform adds to the built-in ones. */
export const customRoles = `insert into roles (name, user_types, permissions) values
  ('support', '{system}', '{user:read,user:update,session:revoke,key:manage,token:introspect}'),
  ('carrier_auditor', '{carrier}', '{user:read,session:read,audit:read,user:delete,key:manage,token:introspect}')`;
