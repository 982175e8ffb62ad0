import { Button, PasswordInput, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { api } from '../api/client';
import { isProblem } from '../api/problems';
import { changed } from '../api/stale';
import { Form } from '../components/forms/form';
import { ProblemAlert } from '../components/forms/problem-alert';
import { useProblemForm } from '../components/forms/use-problem-form';
import { useErrorTexts } from '../texts/use-error-texts';
import { useAccountTexts } from './use-account-texts';

/** Changes the user's own address. It takes effect when the user opens the mailed link. */
export function EmailForm({ onSent }: { onSent: () => void }): ReactNode {
  const texts = useAccountTexts().login;
  const { textOf } = useErrorTexts();
  const form = useProblemForm(['email', 'current_password']);
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const isWrong = isProblem(form.problem, 'auth.wrong_current_password');
  const send = async () => {
    const isSent = await form.submit(async () => {
      await api.POST('/auth/email', { body: { email: email.trim(), current_password: password } });
      await changed('me');
    });
    if (isSent) onSent();
  };
  return (
    <Form onSubmit={send}>
      {!isWrong && <ProblemAlert error={form.problem} />}
      <TextInput
        label={texts.newEmail}
        description={texts.newEmailHint}
        type="email"
        autoComplete="email"
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
        error={form.errorOf('email')}
        required
        data-autofocus
      />
      <PasswordInput
        label={texts.currentPassword}
        autoComplete="current-password"
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        error={isWrong ? textOf(form.problem) : form.errorOf('current_password')}
        required
      />
      <Button type="submit" loading={form.isSending}>
        {texts.sendLink}
      </Button>
    </Form>
  );
}
