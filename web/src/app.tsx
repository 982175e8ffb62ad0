import { localStorageColorSchemeManager, MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { type ComponentType, type ReactNode, useEffect, useMemo } from 'react';
import { createBrowserRouter, RouterProvider } from 'react-router';
import { consolePath } from './api/base';
import { queryClient } from './api/query-client';
import { RouteFailure } from './components/boundary';
import { NotFoundPage } from './components/page';
import { ForgottenPasswordPage } from './login/forgotten-password.page';
import { LoginPage } from './login/login.page';
import { styleNonce } from './security';
import { FrameSkeleton } from './shell/frame-skeleton';
import { Shell } from './shell/shell';
import { UpdateNotice } from './shell/update-notice';
import { useLanguage } from './texts/language';
import { useShellTexts } from './texts/use-shell-texts';
import { cssVariables, themeWith } from './theme';

const colorSchemeManager = localStorageColorSchemeManager({ key: 'carrier-identity-color-scheme' });

/**
 * Loads a page. If this fails, returns a page that shows the error, because React Router renders
 * nothing if `lazy` rejects.
 */
const loaded = async (load: () => Promise<ComponentType>): Promise<{ Component: ComponentType }> => {
  try {
    return { Component: await load() };
  } catch (error) {
    return { Component: () => <RouteFailure error={error} /> };
  }
};

/** Returns the route of a page. Its code is loaded when the user first opens it. */
const page = (path: string, load: () => Promise<ComponentType>) => ({
  path,
  lazy: () => loaded(load),
  errorElement: <RouteFailure />,
});

/** Returns the route of all pages of a feature. */
const feature = (path: string, load: () => Promise<ComponentType>) => page(`${path}/*`, load);

const router = createBrowserRouter(
  [
    { path: 'login', element: <LoginPage /> },
    { path: 'forgotten-password', element: <ForgottenPasswordPage /> },
    {
      element: <Shell />,
      hydrateFallbackElement: <FrameSkeleton />,
      children: [
        {
          index: true,
          lazy: () => loaded(async () => (await import('./overview/start.page')).StartPage),
          errorElement: <RouteFailure />,
        },
        feature('users', async () => (await import('./users/users.routes')).UsersRoutes),
        page('users/:userId', async () => (await import('./users/details/user.page')).UserPage),
        feature('users/bulk', async () => (await import('./bulk/bulk.page')).BulkPage),
        feature('users/import', async () => (await import('./transfer/import.page')).ImportPage),
        feature('operations', async () => (await import('./operations/operations.routes')).OperationsRoutes),
        feature('sessions', async () => (await import('./sessions/sessions.routes')).SessionsRoutes),
        feature('audit', async () => (await import('./audit/audit.routes')).AuditRoutes),
        feature('attacks', async () => (await import('./attacks/attacks.routes')).AttacksRoutes),
        feature('mails', async () => (await import('./mails/mails.routes')).MailsRoutes),
        feature('roles', async () => (await import('./roles/roles.routes')).RolesRoutes),
        feature('api-keys', async () => (await import('./api-keys/api-keys.routes')).ApiKeysRoutes),
        feature('webhooks', async () => (await import('./webhooks/webhooks.routes')).WebhooksRoutes),
        feature('account', async () => (await import('./account/account.routes')).AccountRoutes),
        { path: '*', element: <NotFoundPage /> },
      ],
    },
  ],
  { basename: consolePath },
);

/** Renders the console: its providers and routes. */
export function App(): ReactNode {
  const language = useLanguage();
  const texts = useShellTexts();
  const theme = useMemo(() => themeWith(texts), [texts]);
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      colorSchemeManager={colorSchemeManager}
      getStyleNonce={() => styleNonce}
    >
      <QueryClientProvider client={queryClient}>
        <Notifications position="top-center" />
        <UpdateNotice />
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  );
}
