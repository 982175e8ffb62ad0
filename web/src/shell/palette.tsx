import { Spotlight } from '@mantine/spotlight';
import { IconKeyboard, IconSearch, IconUser } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { useNavigate } from 'react-router';
import { useShellTexts } from '../texts/use-shell-texts';
import { useFoundUsers } from './use-found-users';
import { useNavigation } from './use-navigation';

/** The search that Ctrl+K opens: goes to a page, finds users, or shows the keyboard shortcuts. */
export function Palette({ onShowShortcuts }: { onShowShortcuts: () => void }): ReactNode {
  const { navigation: texts, menu, loading } = useShellTexts();
  const navigate = useNavigate();
  const [query, setQuery] = useState('');
  const { users, isSearching } = useFoundUsers(query);
  const isWanted = ({ label }: { label: string }) => label.toLowerCase().includes(query.trim().toLowerCase());
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
    { group: texts.pages, actions: pages.filter(isWanted) },
    { group: texts.users, actions: found },
    { group: texts.actions, actions: [shortcuts].filter(isWanted) },
  ];
  return (
    <Spotlight
      query={query}
      onQueryChange={setQuery}
      actions={groups.filter(({ actions }) => actions.length > 0)}
      // The service searches in the users; their labels need not contain the text.
      filter={(_query, actions) => actions}
      shortcut="mod + K"
      nothingFound={isSearching ? loading : texts.nothingFound}
      scrollable
      attributes={{ content: { 'aria-label': texts.search } }}
      // Half transparent text is too faint on the colour of the chosen entry.
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
