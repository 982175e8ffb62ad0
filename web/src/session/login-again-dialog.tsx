import { Anchor, Modal, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { LoginForm } from '../login/login-form';
import { useShellTexts } from '../texts/use-shell-texts';
import { logIn } from './session';
import { useSession } from './session-store';

/** Asks for the login if the session ended while the user worked. The page below stays as it is. */
export function LoginAgainDialog(): ReactNode {
  const texts = useShellTexts().login;
  const session = useSession();
  const user = session.phase === 'interrupted' ? session.user : null;
  return (
    <Modal
      opened={user !== null}
      onClose={() => undefined}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      title={texts.again}
      zIndex={400}
    >
      {user !== null && (
        <Stack gap="md">
          <Text size="sm">{texts.againText(user.name)}</Text>
          <LoginForm fixedLogin={user.name} onTokens={logIn} />
          <Anchor component="button" type="button" size="sm" onClick={() => location.reload()}>
            {texts.otherUser}
          </Anchor>
        </Stack>
      )}
    </Modal>
  );
}
