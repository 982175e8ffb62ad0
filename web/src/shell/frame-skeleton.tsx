import { AppShell, Burger, Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { Brand } from '../components/brand';
import { PageSkeleton } from '../components/page';
import classes from './shell.module.css';

/** Size of the header in pixels. */
export const headerSize = { height: 52 };
/** Size of the navigation in pixels. Phones open it over the page. */
export const navigationSize = { width: 220, breakpoint: 'sm' } as const;

/** Shows the frame of the console while the session and the first page load. */
export function FrameSkeleton(): ReactNode {
  return (
    <AppShell header={headerSize} navbar={{ ...navigationSize, collapsed: { mobile: true } }} padding="md">
      <AppShell.Header className={classes.header}>
        <Group gap="xs" wrap="nowrap" miw={0}>
          <Burger hiddenFrom="sm" size="sm" disabled aria-hidden />
          <Brand />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar aria-hidden className={classes.navigation} />
      <AppShell.Main className={classes.main}>
        <PageSkeleton />
      </AppShell.Main>
    </AppShell>
  );
}
