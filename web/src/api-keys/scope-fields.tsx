import { MultiSelect, Radio, Stack, TagsInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { useMe } from '../session/use-me';
import { useApiKeysTexts } from './use-api-keys-texts';

interface ScopeFieldsProps {
  /** carriers that the key can reach; null = all */
  value: string[] | null;
  onChange: (value: string[] | null) => void;
  error: string | undefined;
}

/**
 * Asks which carriers a key can reach. Users with a carrier scope choose from their own carriers.
 */
export function ScopeFields({ value, onChange, error }: ScopeFieldsProps): ReactNode {
  const texts = useApiKeysTexts();
  const { carrier_scope: own } = useMe().user;
  if (own !== null)
    return (
      <MultiSelect
        label={texts.carriers}
        description={texts.scopeHint}
        data={own}
        value={value ?? []}
        onChange={onChange}
        error={error}
        searchable
      />
    );
  return (
    <Stack gap="sm">
      <Radio.Group
        label={texts.scope}
        value={value === null ? 'all' : 'some'}
        onChange={(choice) => onChange(choice === 'all' ? null : [])}
      >
        <Stack gap="xs" mt={6}>
          <Radio value="all" label={texts.scopeAll} />
          <Radio value="some" label={texts.scopeSome} description={texts.scopeHint} />
        </Stack>
      </Radio.Group>
      {value !== null && (
        <TagsInput
          label={texts.carriers}
          description={texts.carriersHint}
          value={value}
          onChange={onChange}
          splitChars={[',', ' ', ';']}
          error={error}
          maxTags={1_000}
        />
      )}
    </Stack>
  );
}
