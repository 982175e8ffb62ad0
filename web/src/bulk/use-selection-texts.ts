import { conditionsOf } from '../components/filter/conditions';
import { useConditionText } from '../components/filter/use-condition-text';
import { useLanguage, useTexts } from '../texts/language';
import { userFilters, useUserFilterNames } from '../users/use-user-filter';
import { bulkTexts as de } from './texts.de';
import { bulkTexts as en } from './texts.en';

/** The users of a bulk change, as texts. */
interface SelectionTexts {
  /** all users or the number of selected users; absent = the users that match the conditions */
  whole?: string;
  conditions: string[];
}

/** Returns a function that names the users of a bulk change by its filters. */
export function useSelectionTexts(): (filters: Record<string, string>) => SelectionTexts {
  const texts = useTexts({ en, de });
  const language = useLanguage();
  const textOf = useConditionText(userFilters, useUserFilterNames());
  return ({ user_id_in, ...others }) => {
    const conditions = conditionsOf(others, userFilters).map(textOf);
    if (user_id_in !== undefined)
      return { whole: texts.selected(user_id_in.split(',').length.toLocaleString(language)), conditions };
    return conditions.length === 0 ? { whole: texts.everyone, conditions } : { conditions };
  };
}
