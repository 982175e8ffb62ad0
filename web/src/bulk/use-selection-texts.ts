import { conditionsOf } from '../components/filter/conditions';
import { useConditionText } from '../components/filter/use-condition-text';
import { userFilters, useUserFilterNames } from '../users/use-user-filter';
import { useBulkTexts } from './use-bulk-texts';

/** The users of a bulk change, as texts. */
interface SelectionTexts {
  /** all users or the number of selected users; absent = the users that match the conditions */
  whole?: string;
  conditions: string[];
}

/** Returns a function that names the users of a bulk change by its filters. */
export function useSelectionTexts(): (filters: Record<string, string>) => SelectionTexts {
  const texts = useBulkTexts();
  const textOf = useConditionText(userFilters, useUserFilterNames());
  return ({ user_id_in, ...others }) => {
    const conditions = conditionsOf(others, userFilters).map(textOf);
    if (user_id_in !== undefined) return { whole: texts.selected(user_id_in.split(',').length), conditions };
    return conditions.length === 0 ? { whole: texts.everyone, conditions } : { conditions };
  };
}
