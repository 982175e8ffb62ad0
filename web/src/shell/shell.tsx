import { AppShell, Burger, Group, ScrollArea } from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { type ReactNode, Suspense, useEffect } from 'react';
import { Link, Navigate, NavigationType, Outlet, useLocation, useNavigationType } from 'react-router';
import { Duties } from '../account/duties/duties';
import { Boundary, FailedPage } from '../components/boundary';
import { Brand } from '../components/brand';
import { PageSkeleton } from '../components/page';
import { UnsavedChangesDialog } from '../components/dialogs/unsaved-changes';
import { FreshAuthenticationDialog } from '../session/fresh-authentication-dialog';
import { IdleWarning } from '../session/idle-warning';
import { LoginAgainDialog } from '../session/login-again-dialog';
import { useSession } from '../session/session-store';
import { useShellTexts } from '../texts/use-shell-texts';
import { ConnectionNotice, LoadingBar } from './connection-notice';
import { FrameSkeleton, headerSize, navigationSize } from './frame-skeleton';
import { NavigationLinks } from './navigation-links';
import { Palette } from './palette';
import { SearchButton } from './search-button';
import classes from './shell.module.css';
import { useShortcuts } from './shortcuts';
import { ShortcutsDialog } from './shortcuts-dialog';
import { UserMenu } from './user-menu';

/** Frames all pages that need a login. Without a session, redirects to the login page. */
export function Shell(): ReactNode {
  const session = useSession();
  const location = useLocation();
  if (session.phase === 'restoring') return <FrameSkeleton />;
  if (session.phase === 'failed') return <FailedPage error={session.problem} />;
  if (session.phase === 'logged-out') {
    const from = session.reason === 'logout' ? undefined : location.pathname + location.search;
    return <Navigate to="/login" replace state={{ from }} />;
  }
  return (
    <Boundary>
      {/* Outside of Suspense: loading the user may need the login. */}
      <LoginAgainDialog />
      <Suspense fallback={<FrameSkeleton />}>
        <Duties>
          <Frame />
        </Duties>
        <FreshAuthenticationDialog />
        <IdleWarning />
      </Suspense>
    </Boundary>
  );
}

function Frame(): ReactNode {
  const { navigation } = useShellTexts();
  const { pathname } = useLocation();
  const navigationType = useNavigationType();
  // A page that needs no loading would otherwise open where the page before was scrolled to.
  useEffect(() => {
    if (navigationType !== NavigationType.Pop) window.scrollTo(0, 0);
  }, [pathname, navigationType]);
  const [isOpen, drawer] = useDisclosure();
  const [isHelpOpen, help] = useDisclosure();
  const [isSearchOpen, search] = useDisclosure();
  useShortcuts({ '?': help.open });
  useHotkeys([['Escape', drawer.close]]);
  // Also while the focus is in a field.
  useHotkeys([['mod+K', search.open]], []);
  return (
    <AppShell header={headerSize} navbar={{ ...navigationSize, collapsed: { mobile: !isOpen } }} padding="md">
      <a className={classes.skip} href="#content" onClick={focusContent}>
        {navigation.skip}
      </a>
      <AppShell.Header className={classes.header}>
        <LoadingBar />
        <Group gap="xs" wrap="nowrap" miw={0}>
          <Burger
            opened={isOpen}
            onClick={drawer.toggle}
            hiddenFrom="sm"
            size="sm"
            aria-label={isOpen ? navigation.close : navigation.open}
          />
          <Link to="/" className={classes.home}>
            <Brand />
          </Link>
        </Group>
        <Group gap="xs" wrap="nowrap">
          <SearchButton onOpen={search.open} />
          <UserMenu onShowShortcuts={help.open} />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar
        p="xs"
        aria-label={navigation.label}
        className={classes.navigation}
        data-open={isOpen || undefined}
      >
        <ScrollArea>
          <NavigationLinks onFollow={drawer.close} />
        </ScrollArea>
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1} className={classes.main}>
        <ConnectionNotice />
        <Boundary key={pathname} isInFrame>
          <Suspense fallback={<PageSkeleton />}>
            <Outlet />
          </Suspense>
        </Boundary>
      </AppShell.Main>
      <Palette opened={isSearchOpen} onClose={search.close} onShowShortcuts={help.open} />
      <UnsavedChangesDialog />
      <ShortcutsDialog opened={isHelpOpen} onClose={help.close} />
    </AppShell>
  );
}

/** Focuses the content. Following the link would open the start page, because of `<base>`. */
function focusContent(event: React.MouseEvent): void {
  event.preventDefault();
  document.getElementById('content')?.focus();
}
