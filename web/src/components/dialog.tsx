import { Modal, type ModalProps } from '@mantine/core';
import { createContext, type ReactNode, useContext, useState } from 'react';
import { useShellTexts } from '../texts/use-shell-texts';

const SendingContext = createContext<(isSending: boolean) => void>(() => undefined);

interface DialogProps extends Omit<ModalProps, 'closeButtonProps'> {
  /** whether a form around the dialog sends a change; forms in the dialog are known */
  isSending?: boolean;
}

/**
 * Shows a dialog. It cannot be closed while a form in it sends a change: otherwise a change would
 * look canceled, and the problem of a failed change would not be seen.
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

/** Returns the function that tells the dialog around a form whether the form sends a change. */
export function useDialogSending(): (isSending: boolean) => void {
  return useContext(SendingContext);
}
