import { Autocomplete } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { ListParams } from '../components/lists/use-list-params';
import { useMe } from '../session/use-me';
import { useCarriers } from './carriers';
import { useUsersTexts } from './use-users-texts';

const shownMax = 20;

/** Limits a list to the users of one carrier. Carrier Users see only their own. */
export function CarrierFilter({ params }: { params: ListParams<object> }): ReactNode {
  const texts = useUsersTexts();
  const { user } = useMe();
  const [isUsed, setIsUsed] = useState(false);
  const carriers = useCarriers(isUsed);
  const { carrier_id = '' } = params.values;
  const [typed, setTyped] = useState<string | null>(null);
  const apply = (value: string) => {
    setTyped(null);
    if (value !== carrier_id) params.set({ carrier_id: value === '' ? null : value });
  };
  if (user.user_type !== 'system') return null;
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
      onFocus={() => setIsUsed(true)}
      onBlur={() => typed !== null && apply(typed.trim())}
      onKeyDown={({ key, currentTarget }) => key === 'Enter' && apply(currentTarget.value.trim())}
    />
  );
}
