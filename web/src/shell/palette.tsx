import { Spotlight } from '@mantine/spotlight';
import { IconKeyboard, IconSearch, IconUser } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { useNavigate } from 'react-router';
import { useShellTexts } from '../texts/use-shell-texts';
import { useFoundUsers } from './use-found-users';
import { useNavigation } from './use-navigation';

/** Opens with Ctrl+K: goes to a page, finds users, or shows the keyboard shortcuts. */
export function Palette({ onShowShortcuts }: { onShowShortcuts: () => void }): ReactNode {
  const { navigation: texts, menu, loading } = useShellTexts();
  const navigate = useNavigate();
  const [query, setQuery] = useState('');
  const { users, isSearching } = useFoundUsers(query);
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
  return (
    <Spotlight
      query={query}
      onQueryChange={setQuery}
      actions={groups.filter(({ actions }) => actions.length > 0)}
      // The service has already matched the users, also by fields that their labels do not show.
      filter={(_query, actions) => actions}
      shortcut="mod + K"
      nothingFound={isSearching ? loading : texts.nothingFound}
      scrollable
      attributes={{ content: { 'aria-label': texts.search } }}
      // Semi-transparent text has too little contrast in the selected entry (WCAG 1.4.3).
      styles={{ actionDescription: { opacity: 1 } }}
      maxHeight={480}
      searchProps={{
        placeholder: texts.searchHint,
        'aria-label': texts.search,
        leftSection: <IconSearch size={20} aria-hidden />,
      }}
    />
  );
}
