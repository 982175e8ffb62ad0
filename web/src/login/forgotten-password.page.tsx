import { Anchor, Button, Stack, Text, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { Form } from '../components/forms/form';
import { ProblemAlert } from '../components/forms/problem-alert';
import { useProblemForm } from '../components/forms/use-problem-form';
import { sessionRequests } from '../session/session-requests';
import { useShellTexts } from '../texts/use-shell-texts';
import { LoginFrame } from './login-frame';

/** Requests a link to set a new password. The response never says whether the address is known. */
export function ForgottenPasswordPage(): ReactNode {
  const texts = useShellTexts().forgotten;
  const form = useProblemForm(['email']);
  const [email, setEmail] = useState('');
  const [isSent, setIsSent] = useState(false);
  const send = async () => setIsSent(await form.submit(() => sessionRequests.requestReset(email.trim())));
  return (
    <LoginFrame title={isSent ? texts.sentTitle : texts.title}>
      <Stack gap="md">
        {isSent ? (
          <Text role="status">{texts.sent(email.trim())}</Text>
        ) : (
          <Form onSubmit={send}>
            <Text size="sm">{texts.text}</Text>
            <ProblemAlert error={form.problem} />
            <TextInput
              label={texts.email}
              type="email"
              value={email}
              onChange={(event) => setEmail(event.currentTarget.value)}
              error={form.errorOf('email')}
              autoComplete="email"
              required
              autoFocus
            />
            <Button type="submit" loading={form.isSending}>
              {texts.submit}
            </Button>
          </Form>
        )}
        <Anchor component={Link} to="/login" size="sm" ta="center">
          {texts.back}
        </Anchor>
      </Stack>
    </LoginFrame>
  );
}
