import { type HotkeyItem, useHotkeys, useLocalStorage } from '@mantine/hooks';

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
 * Calls functions on single keys, such as `/`, unless single-key shortcuts are off, the user types
 * in a field, or a dialog covers the page.
 */
export function useShortcuts(keys: Record<string, () => void>): void {
  const [enabled] = useShortcutsSwitch();
  const items = Object.entries(keys).map<HotkeyItem>(([key, act]) => [
    key,
    unlessTyping(act),
    { preventDefault: false },
  ]);
  useHotkeys(enabled ? items : [], []);
}

/** Fields that letters change. Checkboxes and radio buttons ignore letters. */
const textFields = 'textarea, select, input:not([type=checkbox], [type=radio])';

/** Returns a handler that does nothing in a text field or a dialog. */
function unlessTyping(act: () => void): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.target instanceof Element && event.target.matches(`${textFields}, [role=dialog] *`)) return;
    event.preventDefault();
    act();
  };
}
