import { listUsersFilters } from '../api/filters';
import type { FilterFields, FilterNames } from '../components/filter/conditions';
import { useRoleNames } from '../roles/use-roles';
import { useCarriers } from './carriers';
import { useUsersTexts } from './use-users-texts';

/** Only deleted users have this time, and they cannot be changed or exported. */
const filters = Object.fromEntries(Object.entries(listUsersFilters).filter(([name]) => name !== 'deleted_at'));

/** The fields that users can be filtered by, in lists, bulk changes and exports. */
export const userFilters: FilterFields = { ...filters, attributes: { kind: 'attribute', operators: [''] } };

/**
 * Returns the names of the fields and values of a filter of users.
 * @param suggests whether to load suggested values, which only the form of a condition needs
 */
export function useUserFilterNames(suggests = true): FilterNames {
  const { fields, status, userType } = useUsersTexts();
  const suggestions = { role: useRoleNames(suggests), carrier_id: useCarriers(suggests) };
  return { fields, choices: { status, user_type: userType }, suggestions };
}
