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
  onPick: (user_id: string) => void;
}

const shownMax = 8;
/** Milliseconds without a key after which the search starts. */
const searchAfterMs = 200;

/** Finds a user by a part of the name or e-mail address. The key `/` focuses it. */
export function UserPicker({ label, onPick }: UserPickerProps): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState('');
  const [debounced] = useDebouncedValue(typed.trim(), searchAfterMs);
  useShortcuts({ '/': () => input.current?.focus() });
  const q = debounced.length < searchMinLength ? undefined : debounced;
  const query = { ...(q === undefined ? {} : { q }), per_page: shownMax, count: 'none' as const };
  const { data, isFetching } = useQuery({
    queryKey: ['users', 'pick', query],
    queryFn: ({ signal }) => dataOf(api.GET('/user/list', { params: { query }, signal })),
    placeholderData: keepPreviousData,
    enabled: q !== undefined,
  });
  const users = q === undefined ? [] : (data?.items ?? []);
  return (
    <Select
      ref={input}
      size="xs"
      w={240}
      aria-label={label}
      placeholder={label}
      leftSection={<IconUser size={16} aria-hidden />}
      rightSection={isFetching ? <Loader size={14} /> : <span />}
      searchable
      value={null}
      searchValue={typed}
      onSearchChange={setTyped}
      filter={({ options }) => options}
      data={users.map(({ user_id, name, email }) => ({ value: user_id, label: `${name} · ${email}` }))}
      comboboxProps={{ width: 320, position: 'bottom-start' }}
      onChange={(user_id) => {
        if (user_id !== null) onPick(user_id);
        setTyped('');
      }}
    />
  );
}
