import { pageAt } from '../pages';
import { useMe } from '../session/use-me';
import { useShellTexts } from '../texts/use-shell-texts';
import { type NavigationItem, navigationItems } from './navigation';

/** Returns the pages that the user may see, with their names. */
export function useNavigation(): (NavigationItem & { label: string })[] {
  const { can, canAny } = useMe();
  const { navigation } = useShellTexts();
  return navigationItems
    .filter(({ to, permissions = pageAt(to)?.permissions }) => permissions === undefined || canAny(permissions))
    .filter(({ hiddenWith }) => hiddenWith === undefined || !can(hiddenWith))
    .map((item) => ({ ...item, label: navigation[item.text] }));
}
