import { Alert, Button, Group, Loader, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useShellTexts } from '../../texts/use-shell-texts';
import type { Draft } from './use-draft';

/** Says that a form waits for the service, and lets the user stop that. */
export function WaitingNotice({ draft }: { draft: Pick<Draft<object>, 'isWaiting' | 'stopWaiting'> }): ReactNode {
  const texts = useShellTexts().draft;
  if (!draft.isWaiting) return null;
  return (
    <Alert role="status" color="yellow" icon={<Loader size={18} />}>
      <Group justify="space-between" gap="xs">
        <Text size="sm" flex="1 1 16rem">
          {texts.waiting}
        </Text>
        <Button size="xs" variant="default" onClick={draft.stopWaiting}>
          {texts.stopWaiting}
        </Button>
      </Group>
    </Alert>
  );
}
