import type { Schema } from '../api/client';
import type { Role } from './data';

/** The values of the form for a role. */
export type RoleDraft = Required<Omit<Schema<'CreateRoleRequest'>, 'description'>> & { description: string };

/** Changes to a role: only the fields that differ. */
export type RoleChanges = Schema<'ChangeRoleRequest'>;

/** Name of a field that can be changed. */
export type RoleField = keyof RoleDraft & keyof RoleChanges;

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

/** Returns what changed in the form. The order of lists does not matter. */
export function changesOf(before: RoleDraft, after: RoleDraft): RoleChanges {
  const fields = ['description', 'user_types', 'permissions', 'may_grant', 'second_factor_required_from'] as const;
  return Object.fromEntries(
    fields.filter((field) => formOf(before[field]) !== formOf(after[field])).map((field) => [field, after[field]]),
  );
}

function formOf(value: string | string[] | null): string {
  return JSON.stringify(Array.isArray(value) ? [...value].sort() : value);
}
