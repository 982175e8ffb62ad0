import { Autocomplete } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { ListParams } from '../components/lists/use-list-params';
import { useTexts } from '../texts/language';
import { useCarriers } from './carriers';
import { usersTexts as de } from './texts.de';
import { usersTexts as en } from './texts.en';

const shownMax = 20;

/**
 * Limits a list to the users of one carrier. Shows nothing unless the user sees several carriers.
 */
export function CarrierFilter({ params }: { params: ListParams<object> }): ReactNode {
  const texts = useTexts({ en, de });
  const carriers = useCarriers();
  const { carrier_id = '' } = params.values;
  const [typed, setTyped] = useState<string | null>(null);
  const apply = (value: string) => {
    setTyped(null);
    if (value !== carrier_id) params.set({ carrier_id: value === '' ? null : value });
  };
  if (carriers.length < 2) return null;
  return (
    <Autocomplete
      size="xs"
      w={150}
      aria-label={texts.fields.carrier_id}
      placeholder={texts.fields.carrier_id}
      data={carriers}
      limit={shownMax}
      value={typed ?? carrier_id}
      onChange={setTyped}
      onOptionSubmit={apply}
      onBlur={() => typed !== null && apply(typed.trim())}
      onKeyDown={({ key, currentTarget }) => key === 'Enter' && apply(currentTarget.value.trim())}
    />
  );
}
