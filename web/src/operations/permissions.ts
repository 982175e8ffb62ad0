/** Permissions of which each allows to see the operations of its kind. */
export const operationPermissions = ['user:update', 'user:delete', 'user:import'];
