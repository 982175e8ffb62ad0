import { Group, Kbd, Stack, Switch, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Dialog } from '../components/dialogs/dialog';
import { useShellTexts } from '../texts/use-shell-texts';
import { useShortcutsSwitch } from './shortcuts';

/** Lists the keyboard shortcuts, and switches single-key shortcuts on or off. */
export function ShortcutsDialog({ opened, onClose }: { opened: boolean; onClose: () => void }): ReactNode {
  const texts = useShellTexts();
  const [enabled, setEnabled] = useShortcutsSwitch();
  const rows: [string[], string][] = [
    [['Ctrl', 'K'], texts.shortcuts.search],
    [['?'], texts.shortcuts.help],
    [['/'], texts.shortcuts.filter],
    [['J'], texts.shortcuts.next],
    [['K'], texts.shortcuts.previous],
  ];
  return (
    <Dialog opened={opened} onClose={onClose} title={texts.shortcuts.title}>
      <Stack gap="sm">
        {rows.map(([keys, label]) => (
          <Group key={label} justify="space-between">
            <Text size="sm">{label}</Text>
            <Group gap={4}>
              {keys.map((key) => (
                <Kbd key={key}>{key}</Kbd>
              ))}
            </Group>
          </Group>
        ))}
        <Switch
          mt="sm"
          checked={enabled}
          onChange={(event) => setEnabled(event.currentTarget.checked)}
          label={texts.shortcuts.enabled}
          description={texts.shortcuts.enabledHint}
        />
      </Stack>
    </Dialog>
  );
}
