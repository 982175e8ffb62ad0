import { AppShell, Burger, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { PageSkeleton } from '../components/page';
import { useShellTexts } from '../texts/use-shell-texts';
import classes from './shell.module.css';

/** Size of the header in pixels. */
export const headerSize = { height: 52 };
/** Size of the navigation in pixels. Phones open it over the page. */
export const navigationSize = { width: 220, breakpoint: 'sm' } as const;

/** Shows the frame of the console while the session and the first page load. */
export function FrameSkeleton(): ReactNode {
  const { console: name } = useShellTexts();
  return (
    <AppShell header={headerSize} navbar={{ ...navigationSize, collapsed: { mobile: true } }} padding="md">
      <AppShell.Header className={classes.header}>
        <Group gap="xs">
          <Burger hiddenFrom="sm" size="sm" disabled aria-hidden />
          <Text fw={700}>{name}</Text>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar aria-hidden className={classes.navigation} />
      <AppShell.Main className={classes.main}>
        <PageSkeleton />
      </AppShell.Main>
    </AppShell>
  );
}
