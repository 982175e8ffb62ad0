import { TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { type ReactNode, useRef, useState } from 'react';
import { useShortcuts } from '../../shell/shortcuts';
import type { ListParams } from './use-list-params';

/** Milliseconds without a key after which the search starts. */
const searchAfterMs = 200;

/** Searches a list as the user types (`q`). The key `/` focuses it. */
export function SearchInput({ label, params }: { label: string; params: ListParams<object> }): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  const inUrl = params.values['q'] ?? '';
  const [typed, setTyped] = useState<{ text: string; for: string }>({ text: inUrl, for: inUrl });
  const search = useDebouncedCallback((q: string) => params.set({ q: q.trim() }), searchAfterMs);
  useShortcuts({ '/': () => input.current?.focus() });
  // Another change of the URL, such as "Clear all", replaces the text.
  const text = typed.for === inUrl || typed.text.trim() === inUrl ? typed.text : inUrl;
  return (
    <TextInput
      ref={input}
      type="search"
      size="xs"
      w={{ base: '100%', sm: 240 }}
      aria-label={label}
      placeholder={label}
      leftSection={<IconSearch size={16} aria-hidden />}
      value={text}
      onChange={(event) => {
        setTyped({ text: event.currentTarget.value, for: inUrl });
        search(event.currentTarget.value);
      }}
    />
  );
}
