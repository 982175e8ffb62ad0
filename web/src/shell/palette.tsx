import { Divider, Loader, Text, TextInput } from '@mantine/core';
import { IconKeyboard, IconSearch, IconUser } from '@tabler/icons-react';
import { type ReactNode, useEffect, useId, useState } from 'react';
import { useNavigate } from 'react-router';
import { Dialog } from '../components/dialogs/dialog';
import { ProblemAlert } from '../components/forms/problem-alert';
import { own } from '../own';
import { useMe } from '../session/use-me';
import { useShellTexts } from '../texts/use-shell-texts';
import classes from './shell.module.css';
import { useFoundUsers } from './use-found-users';
import { useNavigation } from './use-navigation';

interface PaletteProps {
  opened: boolean;
  onClose: () => void;
  onShowShortcuts: () => void;
}

/** Opens with Ctrl+K: finds users, goes to a page, or shows the keyboard shortcuts. */
export function Palette({ opened, onClose, onShowShortcuts }: PaletteProps): ReactNode {
  const { search } = useShellTexts().navigation;
  const attributes = { content: { 'aria-label': search } };
  return (
    <Dialog opened={opened} onClose={onClose} withCloseButton={false} {...{ padding: 0, size: 'lg', attributes }}>
      <Search onClose={onClose} onShowShortcuts={onShowShortcuts} />
    </Dialog>
  );
}

interface Result {
  id: string;
  label: string;
  description?: string;
  icon: ReactNode;
  open: () => void;
}

/** Combobox whose list is always open (WAI-ARIA). The focus stays in the field. */
function Search({ onClose, onShowShortcuts }: Omit<PaletteProps, 'opened'>): ReactNode {
  const { navigation: texts, loading } = useShellTexts();
  const { can } = useMe();
  const id = useId();
  const [query, setQuery] = useState('');
  const [chosen, setChosen] = useState<string | null>(null);
  const [isEntered, setIsEntered] = useState(false);
  const { sections, isSearching, error, retry } = useResults(query, onShowShortcuts);
  const results = sections.flatMap((section) => section.results);
  const active = results.find((result) => result.id === chosen) ?? results[0];
  const optionId = (result: Result) => `${id} ${result.id}`.replaceAll(' ', '-');
  const open = (result: Result | undefined) => {
    if (result === undefined) return;
    onClose();
    result.open();
  };
  const isDue = isEntered && !isSearching && !error && active !== undefined;
  useEffect(() => {
    if (isDue) open(active);
  });
  const move = (step: number) => {
    const index = results.findIndex((result) => result === active) + step;
    const next = results.at(index % results.length);
    setChosen(next?.id ?? null);
    if (next) document.getElementById(optionId(next))?.scrollIntoView({ block: 'nearest' });
  };
  const keys: Record<string, () => void> = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    // The first result of a search that still runs is not known yet.
    Enter: () => (chosen === null ? setIsEntered(true) : open(active)),
  };
  return (
    <>
      <TextInput
        variant="unstyled"
        size="md"
        px="md"
        data-autofocus
        role="combobox"
        aria-label={texts.search}
        aria-expanded={results.length > 0}
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={active && optionId(active)}
        placeholder={can('user:read') ? texts.searchHint : texts.searchPagesHint}
        leftSection={isSearching ? <Loader size={18} /> : <IconSearch size={20} aria-hidden />}
        value={query}
        onChange={(event) => {
          setQuery(event.currentTarget.value);
          setChosen(null);
          setIsEntered(false);
        }}
        onKeyDown={(event) => {
          const act = own(keys, event.key);
          if (act === undefined || event.nativeEvent.isComposing) return;
          event.preventDefault();
          act();
        }}
      />
      <Divider />
      <ProblemAlert error={error} onRetry={retry} />
      {results.length === 0 && !error && (
        <Text role="status" c="dimmed" ta="center" p="xl">
          {isSearching ? loading : texts.nothingFound}
        </Text>
      )}
      {results.length > 0 && (
        <div role="listbox" id={id} aria-label={texts.search} className={classes.results}>
          {sections
            .filter((section) => section.results.length > 0)
            .map(({ heading, results: shown }) => (
              <div key={heading} role="group" aria-label={heading}>
                <Text size="xs" fw={500} c="dimmed" className={classes.heading} aria-hidden>
                  {heading}
                </Text>
                {shown.map((result) => (
                  <div
                    key={result.id}
                    id={optionId(result)}
                    role="option"
                    aria-selected={result === active}
                    className={classes.result}
                    onClick={() => open(result)}
                  >
                    {result.icon}
                    <div>
                      <div>{result.label}</div>
                      <Text size="xs" c="dimmed">
                        {result.description}
                      </Text>
                    </div>
                  </div>
                ))}
              </div>
            ))}
        </div>
      )}
    </>
  );
}

/** Returns what matches a text, by section. */
function useResults(query: string, onShowShortcuts: () => void) {
  const { navigation: texts, menu } = useShellTexts();
  const navigate = useNavigate();
  const { users, ...search } = useFoundUsers(query);
  const matching = (results: Result[]) =>
    results.filter(({ label }) => label.toLowerCase().includes(query.trim().toLowerCase()));
  const found = users.map(({ user_id, name, email, first_name, last_name, carrier_id }) => ({
    id: user_id,
    label: name,
    description: [`${first_name} ${last_name}`.trim(), email, carrier_id].filter(Boolean).join(' · '),
    icon: <IconUser size={18} aria-hidden />,
    open: () => void navigate(`/users/${user_id}`),
  }));
  const pages = useNavigation().map(({ to, label, icon: Icon }) => ({
    id: to,
    label,
    icon: <Icon size={18} aria-hidden />,
    open: () => void navigate(to),
  }));
  const icon = <IconKeyboard size={18} aria-hidden />;
  const shortcuts = { id: 'shortcuts', label: menu.shortcuts, icon, open: onShowShortcuts };
  const sections: { heading: string; results: Result[] }[] = [
    { heading: texts.users, results: found },
    { heading: texts.pages, results: matching(pages) },
    { heading: texts.actions, results: matching([shortcuts]) },
  ];
  return { sections, ...search };
}
