import { Button, Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { useShellTexts } from '../texts/use-shell-texts';

interface DialogButtonsProps {
  onCancel: () => void;
  isSending: boolean;
  /** text of the button that makes no change; default = "Cancel" */
  cancelLabel?: string | undefined;
  isDestructive?: boolean;
  /** whether the form cannot be sent yet */
  disabled?: boolean;
  /** text of the button that sends the form */
  children: string;
}

/** Shows the buttons of a form in a dialog. Both wait while the form is sent. */
export function DialogButtons(props: DialogButtonsProps): ReactNode {
  const { onCancel, isSending, cancelLabel, isDestructive = false, disabled = false, children } = props;
  const { cancel } = useShellTexts();
  return (
    <Group justify="flex-end">
      <Button variant="default" onClick={onCancel} disabled={isSending}>
        {cancelLabel ?? cancel}
      </Button>
      <Button type="submit" color={isDestructive ? 'red.9' : undefined} loading={isSending} disabled={disabled}>
        {children}
      </Button>
    </Group>
  );
}
