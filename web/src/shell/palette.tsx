import { Spotlight } from '@mantine/spotlight';
import { IconKeyboard, IconSearch, IconUser } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { useNavigate } from 'react-router';
import { ProblemAlert } from '../components/problem-alert';
import { useMe } from '../session/use-me';
import { useShellTexts } from '../texts/use-shell-texts';
import { useFoundUsers } from './use-found-users';
import { useNavigation } from './use-navigation';

/** Opens with Ctrl+K: goes to a page, finds users, or shows the keyboard shortcuts. */
export function Palette({ onShowShortcuts }: { onShowShortcuts: () => void }): ReactNode {
  const { navigation: texts, menu, loading } = useShellTexts();
  const { can } = useMe();
  const navigate = useNavigate();
  const [query, setQuery] = useState('');
  const { users, isSearching, error, retry } = useFoundUsers(query);
  const matchesQuery = ({ label }: { label: string }) => label.toLowerCase().includes(query.trim().toLowerCase());
  const pages = useNavigation().map(({ to, label, icon: Icon }) => ({
    id: to,
    label,
    leftSection: <Icon size={20} aria-hidden />,
    onClick: () => void navigate(to),
  }));
  const shortcuts = {
    id: 'shortcuts',
    label: menu.shortcuts,
    leftSection: <IconKeyboard size={20} aria-hidden />,
    onClick: onShowShortcuts,
  };
  const found = users.map(({ user_id, name, email, first_name, last_name, carrier_id }) => ({
    id: user_id,
    label: name,
    description: [`${first_name} ${last_name}`.trim(), email, carrier_id].filter(Boolean).join(' · '),
    leftSection: <IconUser size={20} aria-hidden />,
    onClick: () => void navigate(`/users/${user_id}`),
  }));
  const groups = [
    { group: texts.pages, actions: pages.filter(matchesQuery) },
    { group: texts.users, actions: found },
    { group: texts.actions, actions: [shortcuts].filter(matchesQuery) },
  ];
  const shown = groups.filter(({ actions }) => actions.length > 0);
  const hint = can('user:read') ? texts.searchHint : texts.searchPagesHint;
  return (
    <Spotlight.Root
      query={query}
      onQueryChange={setQuery}
      shortcut="mod + K"
      scrollable
      attributes={{ content: { 'aria-label': texts.search } }}
      // Semi-transparent text has too little contrast in the selected entry (WCAG 1.4.3).
      styles={{ actionDescription: { opacity: 1 } }}
      maxHeight={480}
    >
      <Spotlight.Search
        placeholder={hint}
        aria-label={texts.search}
        leftSection={<IconSearch size={20} aria-hidden />}
      />
      <ProblemAlert error={error} onRetry={retry} />
      {shown.length > 0 && (
        <Spotlight.ActionsList>
          {shown.map(({ group, actions }) => (
            <Spotlight.ActionsGroup key={group} label={group}>
              {actions.map(({ id, ...action }) => (
                <Spotlight.Action key={id} {...action} />
              ))}
            </Spotlight.ActionsGroup>
          ))}
        </Spotlight.ActionsList>
      )}
      {shown.length === 0 && !error && <Spotlight.Empty>{isSearching ? loading : texts.nothingFound}</Spotlight.Empty>}
    </Spotlight.Root>
  );
}
