import { Anchor, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { ProblemAlert } from '../../components/forms/problem-alert';
import { useProblemForm } from '../../components/forms/use-problem-form';
import { LoginFrame } from '../../login/login-frame';
import { logOut } from '../../session/session';
import { useMe } from '../../session/use-me';
import { useAccountTexts } from '../use-account-texts';

interface DutyFrameProps {
  title: string;
  text?: string;
  children: ReactNode;
}

/** Frames a page that the user must complete first. The only way out is to log out. */
export function DutyFrame({ title, text, children }: DutyFrameProps): ReactNode {
  const texts = useAccountTexts().duties;
  const { user } = useMe();
  const form = useProblemForm();
  return (
    <LoginFrame title={title}>
      <Stack gap="md">
        {text !== undefined && <Text size="sm">{text}</Text>}
        {children}
        <ProblemAlert error={form.problem} />
        <Group justify="space-between" gap="xs">
          <Text size="sm" c="dimmed">
            {texts.loggedInAs(user.name)}
          </Text>
          <Anchor component="button" type="button" size="sm" onClick={() => void form.submit(logOut)}>
            {texts.logout}
          </Anchor>
        </Group>
      </Stack>
    </LoginFrame>
  );
}
