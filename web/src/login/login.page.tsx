import { Alert, Anchor, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link, Navigate, useLocation } from 'react-router';
import { logIn } from '../session/session';
import { useSession } from '../session/session-store';
import { useShellTexts } from '../texts/use-shell-texts';
import { LoginForm } from './login-form';
import { LoginFrame } from './login-frame';

/** Logs the user in, and returns to the page that required the login. */
export function LoginPage(): ReactNode {
  const texts = useShellTexts();
  const session = useSession();
  const { state } = useLocation() as { state: { from?: string } | null };
  if (session.phase === 'logged-in') return <Navigate to={state?.from ?? '/'} replace />;
  return (
    <LoginFrame title={texts.login.title}>
      <Stack gap="md">
        {!window.isSecureContext && <Alert color="yellow">{texts.login.plainHttp}</Alert>}
        {session.phase === 'logged-out' && session.reason === 'logout' && (
          <Text role="status" size="sm" c="dimmed">
            {texts.login.loggedOut}
          </Text>
        )}
        <LoginForm onTokens={logIn} />
        <Anchor component={Link} to="/forgotten-password" size="sm" ta="center">
          {texts.login.forgot}
        </Anchor>
      </Stack>
    </LoginFrame>
  );
}
