import { Button, Group, Stack, Text } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import { useBlocker } from 'react-router';
import { useShellTexts } from '../../texts/use-shell-texts';
import { Dialog } from './dialog';

/** Forms of the page that have unsaved changes. */
const unsaved = new Set<symbol>();

/** Tells `UnsavedChangesDialog` whether a form has changes that a navigation would discard. */
export function useUnsavedChanges(hasChanges: boolean): void {
  useEffect(() => {
    if (!hasChanges) return;
    const form = Symbol();
    unsaved.add(form);
    return () => void unsaved.delete(form);
  }, [hasChanges]);
}

/** Asks before a navigation to another page discards unsaved changes. */
export function UnsavedChangesDialog(): ReactNode {
  const texts = useShellTexts();
  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) => unsaved.size > 0 && currentLocation.pathname !== nextLocation.pathname,
  );
  return (
    <Dialog opened={blocker.state === 'blocked'} onClose={() => blocker.reset?.()} title={texts.unsaved.title}>
      <Stack gap="md">
        <Text>{texts.unsaved.text}</Text>
        <Group justify="flex-end">
          <Button variant="default" data-autofocus onClick={() => blocker.reset?.()}>
            {texts.unsaved.stay}
          </Button>
          <Button color="red.9" onClick={() => blocker.proceed?.()}>
            {texts.unsaved.leave}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
