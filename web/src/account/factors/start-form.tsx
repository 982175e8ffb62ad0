import { Button, Text, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { isProblem } from '../../api/problems';
import { Form } from '../../components/forms/form';
import { ProblemAlert } from '../../components/forms/problem-alert';
import { useProblemForm } from '../../components/forms/use-problem-form';
import { useMe } from '../../session/use-me';
import { useAccountTexts } from '../use-account-texts';
import { factorNameMax } from './rename-dialog';

interface StartFormProps {
  intro: string;
  defaultName: string;
  /**
   * Starts to add the factor. If the service requires the mailed code, it is called again with it.
   */
  onStart: (name: string, mailCode: { mail_code?: string }) => Promise<void>;
}

/** Asks for the name of a new factor and, if the service requires it, for the mailed code. */
export function StartForm({ intro, defaultName, onStart }: StartFormProps): ReactNode {
  const texts = useAccountTexts();
  const { user } = useMe();
  const form = useProblemForm(['name']);
  const [name, setName] = useState(defaultName);
  const [mailCode, setMailCode] = useState<string | null>(null);
  const [isWrong, setIsWrong] = useState(false);
  const send = () =>
    form.submit(async () => {
      setIsWrong(false);
      try {
        await onStart(name.trim(), mailCode === null ? {} : { mail_code: mailCode.replace(/\s/g, '') });
      } catch (error) {
        if (!isProblem(error, 'auth.mail_code_required')) throw error;
        setIsWrong(mailCode !== null);
        setMailCode(mailCode ?? '');
      }
    });
  return (
    <Form onSubmit={send}>
      <Text size="sm">{intro}</Text>
      <ProblemAlert error={form.problem} />
      <TextInput
        label={texts.factors.name}
        description={texts.factors.nameHint}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        error={form.errorOf('name')}
        maxLength={factorNameMax}
        required
        data-autofocus
      />
      {mailCode !== null && (
        <TextInput
          label={texts.enrolment.mailCode}
          description={texts.enrolment.mailCodeText(user.email)}
          value={mailCode}
          onChange={(event) => setMailCode(event.currentTarget.value)}
          error={isWrong ? texts.enrolment.mailCodeWrong : undefined}
          inputMode="numeric"
          autoComplete="one-time-code"
          required
          autoFocus
        />
      )}
      <Button type="submit" loading={form.isSending}>
        {texts.enrolment.next}
      </Button>
    </Form>
  );
}
