import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import type { User } from '../data';
import { useUsersTexts } from '../use-users-texts';
import { failedMailOf, useLoginCheck } from './data';
import { CauseFacts, useCauseTexts } from './login-cause';
import { Remedies } from './login-remedies';

/** Says at the top of the page of a user that the user cannot log in, with the remedies. */
export function LoginNotice({ user, onShow }: { user: User; onShow: () => void }): ReactNode {
  const texts = useUsersTexts().check;
  const textsOf = useCauseTexts();
  const { data: check } = useLoginCheck(user.user_id);
  const [cause] = check?.causes ?? [];
  if (check === undefined || cause?.blocks !== true) return null;
  const failed = failedMailOf(check);
  return (
    <Alert color="orange" variant="light" mb="md" p="xs" icon={<IconAlertTriangle aria-hidden />}>
      <Group justify="space-between" gap="xs">
        <Stack gap={2} flex="1 1 11rem" miw={0}>
          <Text size="sm" fw={500}>
            {textsOf(cause).title}
          </Text>
          <CauseFacts cause={cause} />
          {failed !== undefined && <Text size="sm">{texts.mailFailed(failed.last_error ?? '')}</Text>}
        </Stack>
        <Group gap="xs">
          <Remedies user={user} cause={cause} mailFailed={failed !== undefined} />
          <Button size="xs" variant="default" onClick={onShow}>
            {texts.details}
          </Button>
        </Group>
      </Group>
    </Alert>
  );
}
