import { Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { isFinal, logoutsOf } from './change';
import { ChangeSummary } from './change-summary';
import type { BulkRequest } from './data';
import { SelectionSummary } from './selection-summary';
import { useBulkTexts } from './use-bulk-texts';

/** Says before a bulk change which users and fields it changes, and which users it logs out. */
export function BulkQuestion({ request: { filters, change } }: { request: BulkRequest }): ReactNode {
  const texts = useBulkTexts();
  return (
    <Stack gap="sm">
      <SelectionSummary filters={filters} />
      {change !== null && <ChangeSummary change={change} />}
      {logoutsOf(change).map((logout) => (
        <Text key={logout} size="sm" fw={600}>
          {texts.logouts[logout]}
        </Text>
      ))}
      <Text size="sm">
        {isFinal(change) ? texts.confirmFinalText : texts.confirmText}{' '}
        {change?.reset_second_factors === true && texts.confirmResetText}
      </Text>
    </Stack>
  );
}
