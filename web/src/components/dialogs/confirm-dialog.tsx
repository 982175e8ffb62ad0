import { TextInput } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { useShellTexts } from '../../texts/use-shell-texts';
import { Dialog, DialogButtons } from './dialog';
import { Form } from '../forms/form';
import { ProblemAlert } from '../forms/problem-alert';
import { useProblemForm } from '../forms/use-problem-form';

interface ConfirmDialogProps {
  opened: boolean;
  title: string;
  /** what will happen */
  children: ReactNode;
  /** text of the button, a verb such as "Delete" */
  confirmLabel: string;
  /** text of the button that makes no change; default = "Cancel" */
  cancelLabel?: string;
  isDestructive?: boolean;
  /** text to type, such as the number of users; a number may contain thousands separators */
  typedConfirmation?: string;
  /** Makes the change. The dialog closes on success, and shows the problem otherwise. */
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}

/** Asks before a change that is hard to undo. */
export function ConfirmDialog({ opened, title, onClose, ...rest }: ConfirmDialogProps): ReactNode {
  useFocusBack(opened);
  return (
    <Dialog opened={opened} onClose={onClose} title={title} returnFocus={false}>
      <ConfirmForm {...rest} onClose={onClose} />
    </Dialog>
  );
}

/**
 * Returns the focus to where it was before a dialog opened. Mantine does not do this for dialogs
 * that are mounted open.
 */
function useFocusBack(opened: boolean): void {
  useEffect(() => {
    if (!opened) return;
    const before = document.activeElement;
    return () => {
      if (before instanceof HTMLElement && before.isConnected) setTimeout(() => before.focus());
    };
  }, [opened]);
}

/**
 * Renders the content of a `ConfirmDialog`, for dialogs that must load data before they can ask.
 * Mount it only while the dialog is open, so that each opening starts with an empty form.
 */
export function ConfirmForm({
  children,
  confirmLabel,
  cancelLabel,
  isDestructive = false,
  typedConfirmation,
  onConfirm,
  onClose,
}: Omit<ConfirmDialogProps, 'opened' | 'title'>): ReactNode {
  const texts = useShellTexts();
  const form = useProblemForm();
  const [typed, setTyped] = useState('');
  const mayConfirm = typedConfirmation === undefined || isTyped(typed, typedConfirmation);
  const confirm = async () => {
    if (mayConfirm && (await form.submit(onConfirm))) onClose();
  };
  return (
    <Form onSubmit={confirm}>
      <div>{children}</div>
      {typedConfirmation !== undefined && (
        <TextInput
          data-autofocus
          label={texts.confirmTyping(typedConfirmation)}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          autoComplete="off"
        />
      )}
      <ProblemAlert error={form.problem} />
      <DialogButtons
        onCancel={onClose}
        isSending={form.isSending}
        cancelLabel={cancelLabel}
        isDestructive={isDestructive}
        disabled={!mayConfirm}
      >
        {confirmLabel}
      </DialogButtons>
    </Form>
  );
}

/** Returns whether the typed text matches. A number may contain separators, such as "6,000". */
function isTyped(typed: string, expected: string): boolean {
  const text = typed.trim();
  const isGrouped = /^\d{1,3}([.,'’\s]\d{3})+$/.test(text);
  return text === expected || (isGrouped && text.replace(/\D/g, '') === expected);
}
