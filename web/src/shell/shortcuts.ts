import { useHotkeys, useLocalStorage } from '@mantine/hooks';

/** Returns whether single-key shortcuts are on, and a function to switch them (WCAG 2.1.4). */
export function useShortcutsSwitch(): [boolean, (enabled: boolean) => void] {
  const [enabled, setEnabled] = useLocalStorage({
    key: 'carrier-identity-shortcuts',
    defaultValue: true,
    getInitialValueInEffect: false,
  });
  return [enabled, setEnabled];
}

/**
 * Calls functions on single keys, such as `/`, unless single-key shortcuts are off or the user
 * types in a field.
 */
export function useShortcuts(keys: Record<string, () => void>): void {
  const [enabled] = useShortcutsSwitch();
  useHotkeys(enabled ? Object.entries(keys) : []);
}
