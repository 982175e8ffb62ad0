import { Group, Pill, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { conditionsOf } from '../components/filter/conditions';
import { useConditionText } from '../components/filter/use-condition-text';
import { useLanguage, useTexts } from '../texts/language';
import { userFilters, useUserFilterNames } from '../users/use-user-filter';
import { bulkTexts as de } from './texts.de';
import { bulkTexts as en } from './texts.en';

/** Shows which users a bulk change covers: all, selected ones, or all that match a filter. */
export function SelectionSummary({ filters }: { filters: Record<string, string> }): ReactNode {
  const texts = useTexts({ en, de });
  const language = useLanguage();
  const textOf = useConditionText(userFilters, useUserFilterNames());
  const { user_id_in, ...others } = filters;
  const pills = conditionsOf(others, userFilters).map(textOf);
  return (
    <>
      {user_id_in !== undefined && (
        <Text size="sm">{texts.selected(user_id_in.split(',').length.toLocaleString(language))}</Text>
      )}
      {user_id_in === undefined && pills.length === 0 && <Text size="sm">{texts.everyone}</Text>}
      {pills.length > 0 && (
        <Group gap="xs">
          {pills.map((text) => (
            <Pill key={text} size="md" title={text}>
              {text}
            </Pill>
          ))}
        </Group>
      )}
    </>
  );
}
