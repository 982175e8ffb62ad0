import { ActionIcon, Button, Kbd } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useMe } from '../session/use-me';
import { useShellTexts } from '../texts/use-shell-texts';
import classes from './shell.module.css';

/** Opens the search. Shows a wide button with its shortcut, or an icon on a phone. */
export function SearchButton({ onOpen }: { onOpen: () => void }): ReactNode {
  const { navigation: texts } = useShellTexts();
  const { can } = useMe();
  const label = can('user:read') ? texts.searchButton : texts.searchPagesButton;
  return (
    <>
      <Button
        visibleFrom="sm"
        variant="default"
        className={classes.search}
        classNames={{ label: classes.searchLabel }}
        leftSection={<IconSearch size={16} aria-hidden />}
        rightSection={
          <span aria-hidden>
            <Kbd size="xs">Ctrl</Kbd> <Kbd size="xs">K</Kbd>
          </span>
        }
        aria-keyshortcuts="Control+K"
        onClick={onOpen}
      >
        {label}
      </Button>
      <ActionIcon hiddenFrom="sm" variant="subtle" color="gray" size="lg" aria-label={label} onClick={onOpen}>
        <IconSearch size={20} aria-hidden />
      </ActionIcon>
    </>
  );
}
