import { Loader, Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconUser } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useRef, useState } from 'react';
import { searchMinLength } from '../components/filter/conditions';
import { useShortcuts } from '../shell/shortcuts';
import { pickQuery } from './data';

interface UserPickerProps {
  label: string;
  /** text beside the names of API keys; absent = find users only */
  keyLabel?: string | undefined;
  onPick: (id: string) => void;
  /** whether the key `/` focuses it */
  hasShortcut?: boolean;
}

/** Milliseconds without a key after which the search starts. */
const searchAfterMs = 200;

/** Finds a user or an API key by a part of the name or e-mail address. Enter picks the first. */
export function UserPicker({ label, keyLabel, onPick, hasShortcut = true }: UserPickerProps): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState('');
  const [debounced] = useDebouncedValue(typed.trim(), searchAfterMs);
  useShortcuts(hasShortcut ? { '/': () => input.current?.focus() } : {});
  const q = debounced.length < searchMinLength ? undefined : debounced;
  const { data, isFetching, isPlaceholderData } = useQuery({
    ...pickQuery(q ?? '', keyLabel),
    enabled: q !== undefined,
  });
  const found = q === undefined ? [] : (data ?? []);
  const pick = (id: string | null) => {
    if (id === null) return;
    onPick(id);
    setTyped('');
  };
  return (
    <Select
      ref={input}
      size="xs"
      flex="1 1 11rem"
      maw={240}
      aria-label={label}
      placeholder={label}
      leftSection={<IconUser size={16} aria-hidden />}
      rightSection={isFetching ? <Loader size={14} /> : <span />}
      searchable
      value={null}
      searchValue={typed}
      onSearchChange={setTyped}
      filter={({ options }) => options}
      data={found}
      comboboxProps={{ width: 320, position: 'bottom-start' }}
      onChange={pick}
      onKeyDown={({ key, currentTarget }) => {
        // Picks the first current result, unless another option is highlighted. Mantine keeps
        // the id of an option that is gone.
        const active = document.getElementById(currentTarget.getAttribute('aria-activedescendant') ?? '');
        if (key === 'Enter' && active === null && typed.trim() === debounced && !isPlaceholderData)
          pick(found[0]?.value ?? null);
      }}
    />
  );
}
