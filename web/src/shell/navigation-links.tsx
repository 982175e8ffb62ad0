import { NavLink, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'react-router';
import { own } from '../own';
import { useShellTexts } from '../texts/use-shell-texts';
import { navigationGroups } from './navigation';
import classes from './shell.module.css';
import { useNavigation } from './use-navigation';

/** Links the pages that the user may see, below the headings of their groups. */
export function NavigationLinks({ onFollow }: { onFollow: () => void }): ReactNode {
  const headings = useShellTexts().navigationGroups;
  const { pathname } = useLocation();
  const items = useNavigation();
  return navigationGroups.map((name) => {
    const links = items.filter(({ group }) => group === name);
    const heading = own<string>(headings, name);
    if (links.length === 0) return null;
    return (
      <div key={name} role="group" aria-label={heading} className={classes.group}>
        {heading !== undefined && (
          <Text size="xs" fw={500} c="dimmed" className={classes.heading} aria-hidden>
            {heading}
          </Text>
        )}
        {links.map(({ to, label, icon: Icon }) => (
          <NavLink
            key={to}
            component={Link}
            to={to}
            label={label}
            leftSection={<Icon size={18} stroke={1.75} aria-hidden />}
            className={classes.link}
            active={pathname === to || pathname.startsWith(`${to}/`)}
            aria-current={pathname === to ? 'page' : undefined}
            onClick={onFollow}
          />
        ))}
      </div>
    );
  });
}
