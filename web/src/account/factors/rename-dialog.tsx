import { TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Dialog, DialogButtons } from '../../components/dialogs/dialog';
import { Form } from '../../components/forms/form';
import { ProblemAlert } from '../../components/forms/problem-alert';
import { useProblemForm } from '../../components/forms/use-problem-form';
import { useAccountTexts } from '../use-account-texts';
import { type Factor, renameFactor } from './data';

/** Maximum length of the name of a factor. */
export const factorNameMax = 64;

interface RenameDialogProps {
  factor: Factor;
  opened: boolean;
  onClose: () => void;
}

/** Renames a second factor. */
export function RenameDialog({ factor, opened, onClose }: RenameDialogProps): ReactNode {
  const texts = useAccountTexts().factors;
  return (
    <Dialog opened={opened} onClose={onClose} title={texts.rename}>
      <RenameForm factor={factor} onClose={onClose} />
    </Dialog>
  );
}

function RenameForm({ factor, onClose }: Omit<RenameDialogProps, 'opened'>): ReactNode {
  const texts = useAccountTexts().factors;
  const form = useProblemForm(['name']);
  const [name, setName] = useState(factor.name);
  const save = async () => {
    if (await form.submit(() => renameFactor(factor.factor_id, name.trim()))) onClose();
  };
  return (
    <Form onSubmit={save}>
      <ProblemAlert error={form.problem} />
      <TextInput
        label={texts.name}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        error={form.errorOf('name')}
        maxLength={factorNameMax}
        required
        data-autofocus
      />
      <DialogButtons onCancel={onClose} isSending={form.isSending}>
        {texts.save}
      </DialogButtons>
    </Form>
  );
}
