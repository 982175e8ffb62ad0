import { localStorageColorSchemeManager, MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { type ComponentType, type ReactNode, useEffect, useMemo } from 'react';
import { createBrowserRouter, RouterProvider } from 'react-router';
import { consolePath } from './api/base';
import { queryClient } from './api/query-client';
import { AfterFirstData } from './components/after-first-data';
import { lazyPart, RouteFailure } from './components/boundary';
import { NotFoundPage } from './components/page';
import { ForgottenPasswordPage } from './login/forgotten-password.page';
import { LoginPage } from './login/login.page';
import { pages } from './pages';
import { styleNonce } from './security';
import { useMe } from './session/use-me';
import { FrameSkeleton } from './shell/frame-skeleton';
import { Shell } from './shell/shell';
import { UpdateNotice } from './shell/update-notice';
import { useLanguage } from './texts/language';
import { useShellTexts } from './texts/use-shell-texts';
import { cssVariables, themeWith } from './theme';

const colorSchemeManager = localStorageColorSchemeManager({ key: 'carrier-identity-color-scheme' });

// Notifications that come sooner wait for this code.
const Notifications = lazyPart(async () => (await import('./components/notifications')).Notifications);

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

/** Returns a page, or the page of unknown paths for users without its permissions. */
function allowed(Content: ComponentType, permissions: readonly string[]): ComponentType {
  return function AllowedPage() {
    return useMe().canAny(permissions) ? <Content /> : <NotFoundPage />;
  };
}

const routes = pages.map(({ path, permissions, load }) => ({
  path,
  lazy: () => loaded(async () => (permissions === undefined ? load() : allowed(await load(), permissions))),
  errorElement: <RouteFailure />,
}));

const router = createBrowserRouter(
  [
    { path: 'login', element: <LoginPage /> },
    { path: 'forgotten-password', element: <ForgottenPasswordPage /> },
    {
      element: <Shell />,
      hydrateFallbackElement: <FrameSkeleton />,
      children: [...routes, { path: '*', element: <NotFoundPage /> }],
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
        <AfterFirstData>
          <Notifications position="top-center" />
        </AfterFirstData>
        <UpdateNotice />
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  );
}
