import { Group, Pill, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useSelectionTexts } from './use-selection-texts';

/** Shows which users a bulk change covers: all, selected ones, or all that match a filter. */
export function SelectionSummary({ filters }: { filters: Record<string, string> }): ReactNode {
  const { whole, conditions } = useSelectionTexts()(filters);
  return (
    <>
      {whole !== undefined && <Text size="sm">{whole}</Text>}
      {conditions.length > 0 && (
        <Group gap="xs">
          {conditions.map((text) => (
            <Pill key={text} size="md" title={text}>
              {text}
            </Pill>
          ))}
        </Group>
      )}
    </>
  );
}
