import { Loader, Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconUser } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type ReactNode, useRef, useState } from 'react';
import { api, dataOf } from '../api/client';
import { searchMinLength } from '../components/filter/conditions';
import { useShortcuts } from '../shell/shortcuts';

interface UserPickerProps {
  label: string;
  /** text beside the names of API keys; absent = find users only */
  keyLabel?: string | undefined;
  onPick: (id: string) => void;
  /** whether the key `/` focuses it */
  hasShortcut?: boolean;
}

const shownMax = 8;
/** Milliseconds without a key after which the search starts. */
const searchAfterMs = 200;

/** Finds a user or an API key by a part of the name or e-mail address. Enter picks the first. */
export function UserPicker({ label, keyLabel, onPick, hasShortcut = true }: UserPickerProps): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState('');
  const [debounced] = useDebouncedValue(typed.trim(), searchAfterMs);
  useShortcuts(hasShortcut ? { '/': () => input.current?.focus() } : {});
  const q = debounced.length < searchMinLength ? undefined : debounced;
  const { data, isFetching } = useQuery({
    queryKey: ['users', 'pick', q, keyLabel],
    queryFn: async ({ signal }) => {
      const query = { per_page: shownMax, count: 'none' as const };
      const [users, keys] = await Promise.all([
        dataOf(api.GET('/user/list', { params: { query: { ...query, q: q ?? '' } }, signal })),
        keyLabel !== undefined &&
          dataOf(api.GET('/auth/key/list', { params: { query: { ...query, name_like: q ?? '' } }, signal })),
      ]);
      return [
        ...users.items.map(({ user_id, name, email }) => ({ value: user_id, label: `${name} · ${email}` })),
        ...(keys === false
          ? []
          : keys.items.map(({ key_id, name }) => ({ value: key_id, label: `${name} · ${keyLabel}` }))),
      ];
    },
    placeholderData: keepPreviousData,
    enabled: q !== undefined,
  });
  const found = q === undefined ? [] : (data ?? []);
  const pick = (id: string | null) => {
    if (id !== null) onPick(id);
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
        // Picks the first before an option is highlighted.
        if (key === 'Enter' && !currentTarget.ariaActiveDescendantElement) pick(found[0]?.value ?? null);
      }}
    />
  );
}
