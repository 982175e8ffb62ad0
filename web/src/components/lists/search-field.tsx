import { TextInput, type TextInputProps } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';

/** Milliseconds without a key after which the search starts. */
const searchAfterMs = 200;

interface SearchFieldProps extends Pick<TextInputProps, 'w'> {
  label: string;
  onSearch: (text: string) => void;
}

/** Searches as the user types. Enter does not submit the surrounding form. */
export function SearchField({ label, onSearch, w = '100%' }: SearchFieldProps): ReactNode {
  const [text, setText] = useState('');
  const search = useDebouncedCallback(onSearch, searchAfterMs);
  return (
    <TextInput
      type="search"
      w={w}
      aria-label={label}
      placeholder={label}
      leftSection={<IconSearch size={16} aria-hidden />}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
        search(event.currentTarget.value.trim());
      }}
      onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
      data-autofocus
    />
  );
}
