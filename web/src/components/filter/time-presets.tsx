import { Button, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useShellTexts } from '../../texts/use-shell-texts';
import type { Condition } from './conditions';

/** Days that a time is ago, by operator. */
const presets = [
  ['_gte', [7, 30, 90]],
  ['_lt', [30, 90, 365]],
] as const;
const dayMs = 86_400_000;

interface TimePresetsProps {
  onApply: (condition: Omit<Condition, 'field'>) => void;
}

/** Offers conditions on a time that many lists need, such as "more than 90 days ago". */
export function TimePresets({ onApply }: TimePresetsProps): ReactNode {
  const { presets: texts } = useShellTexts().filter;
  return presets.map(([operator, choices]) => (
    <div key={operator}>
      <Text size="sm" fw={500}>
        {texts[operator]}
      </Text>
      <Group gap={6}>
        {choices.map((days) => (
          <Button
            key={days}
            variant="default"
            size="compact-xs"
            aria-label={`${texts[operator]} ${texts.days(days)}`}
            onClick={() => onApply({ operator, value: new Date(Date.now() - days * dayMs).toISOString() })}
          >
            {texts.days(days)}
          </Button>
        ))}
      </Group>
    </div>
  ));
}
