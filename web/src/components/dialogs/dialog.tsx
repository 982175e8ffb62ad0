import { Button, Group, Modal, type ModalProps } from '@mantine/core';
import { createContext, type ReactNode, useContext, useState } from 'react';
import { useShellTexts } from '../../texts/use-shell-texts';

const SendingContext = createContext<(isSending: boolean) => void>(() => undefined);

interface DialogProps extends Omit<ModalProps, 'closeButtonProps'> {
  /** whether a form around the dialog is sending; forms in the dialog report this themselves */
  isSending?: boolean;
}

/**
 * Shows a dialog that cannot be closed while a form in it sends a change, because closing it would
 * hide whether the change succeeded.
 */
export function Dialog(props: DialogProps): ReactNode {
  const { closeOnEscape = true, closeOnClickOutside = true, isSending = false, ...others } = props;
  const { close } = useShellTexts();
  const [isInnerSending, setIsInnerSending] = useState(false);
  const mayClose = !isSending && !isInnerSending;
  return (
    <SendingContext value={setIsInnerSending}>
      <Modal
        {...others}
        closeOnEscape={closeOnEscape && mayClose}
        closeOnClickOutside={closeOnClickOutside && mayClose}
        closeButtonProps={{ 'aria-label': close, disabled: !mayClose }}
      />
    </SendingContext>
  );
}

/** Returns a function that keeps the surrounding dialog open while a form sends. */
export function useDialogSending(): (isSending: boolean) => void {
  return useContext(SendingContext);
}

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
