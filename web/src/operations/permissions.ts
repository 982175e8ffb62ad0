/** Permissions of which a user needs at least one to see operations. */
export const operationPermissions = ['user:update', 'user:delete', 'user:import'] as const;
