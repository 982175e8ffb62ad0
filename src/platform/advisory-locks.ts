/**
 * Keys of all advisory locks, so that no two purposes share one. The SQL of the audit log takes a
 * further one for its partitions: 7_263_008.
 */
export const advisoryLocks = {
  /** an instance migrates; held by its session */
  migrations: 7_263_004,
  /** a change may remove an administrator: two at once could remove the last two */
  administrators: 7_263_005,
  /** shared for granting roles, exclusive for changing a role */
  roles: 7_263_006,
  /** an instance creates a signing key */
  signingKeys: 7_263_007,
  /** an instance counts the overview */
  overview: 7_263_014,
  /** a bulk change or an upload is accepted, one at a time */
  operations: 7_263_015,
  /**
   * shared for granting roles in bulk, exclusive for changing a role: bulk changes that start later
   * queue behind the change
   */
  roleChanges: 7_263_016,
} as const;
