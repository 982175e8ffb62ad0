import { Button, List, PasswordInput, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { api } from '../api/client';
import { isProblem } from '../api/problems';
import { Form } from '../components/forms/form';
import { ProblemAlert } from '../components/forms/problem-alert';
import { useProblemForm } from '../components/forms/use-problem-form';
import { useMe } from '../session/use-me';
import { useErrorTexts } from '../texts/use-error-texts';
import { usePasswordFaults } from './password-faults';
import { useAccountTexts } from './use-account-texts';

/** Changes the user's own password. The service rates its strength. */
export function PasswordForm({ onChanged }: { onChanged: () => Promise<void> }): ReactNode {
  const texts = useAccountTexts().password;
  const { user } = useMe();
  const { textOf } = useErrorTexts();
  const explain = usePasswordFaults();
  const form = useProblemForm(['current_password', 'new_password']);
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const isWrong = isProblem(form.problem, 'auth.wrong_current_password');
  const fault = explain(form.fieldErrorOf('new_password'));
  const send = () =>
    form.submit(async () => {
      await api.POST('/auth/password', { body: { current_password: current, new_password: next } });
      await onChanged();
    });
  return (
    <Form onSubmit={send}>
      {!isWrong && <ProblemAlert error={form.problem} />}
      <input type="text" name="username" autoComplete="username" value={user.name} readOnly hidden />
      <PasswordInput
        label={texts.current}
        value={current}
        onChange={(event) => setCurrent(event.currentTarget.value)}
        error={isWrong ? textOf(form.problem) : form.errorOf('current_password')}
        autoComplete="current-password"
        required
        data-autofocus
      />
      <div>
        <PasswordInput
          label={texts.new}
          description={texts.newHint}
          value={next}
          onChange={(event) => setNext(event.currentTarget.value)}
          error={fault?.text}
          autoComplete="new-password"
          required
        />
        {fault !== null && fault.hints.length > 0 && (
          <div role="status">
            <List size="sm" mt="xs">
              {fault.hints.map((hint) => (
                <List.Item key={hint}>{hint}</List.Item>
              ))}
            </List>
          </div>
        )}
      </div>
      <Text size="sm" c="dimmed">
        {texts.otherSessions}
      </Text>
      <Button type="submit" loading={form.isSending}>
        {texts.submit}
      </Button>
    </Form>
  );
}
