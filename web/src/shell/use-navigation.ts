import { useMe } from '../session/use-me';
import { useShellTexts } from '../texts/use-shell-texts';
import { type NavigationItem, navigationItems } from './navigation';

/** Returns the pages that the user may see, with their names. */
export function useNavigation(): (NavigationItem & { label: string })[] {
  const { can } = useMe();
  const { navigation } = useShellTexts();
  return navigationItems
    .filter(({ permissions, unless }) => permissions?.some(can) !== false && (unless === undefined || !can(unless)))
    .map((item) => ({ ...item, label: navigation[item.text] }));
}
