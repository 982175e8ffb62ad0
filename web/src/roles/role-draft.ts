import type { Schema } from '../api/client';
import type { Role } from './data';

/** The values of the form for a role. */
export type RoleDraft = Required<Omit<Schema<'CreateRoleRequest'>, 'description'>> & { description: string };

/** Returns the values of the form for a role, or for a new one. */
export function draftOf(role?: Role): RoleDraft {
  return {
    name: role?.name ?? '',
    description: role?.description ?? '',
    user_types: role?.user_types ?? [],
    permissions: role?.permissions ?? [],
    may_grant: role?.may_grant ?? [],
    second_factor_required_from: role?.second_factor_required_from ?? null,
  };
}
