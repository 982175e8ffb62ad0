/** Permissions to request operations. Any of them gives access to the list of operations. */
export const operationPermissions = ['user:update', 'user:delete', 'user:import'];
