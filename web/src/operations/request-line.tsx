import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { bulkTexts as de } from '../bulk/texts.de';
import { bulkTexts as en } from '../bulk/texts.en';
import { useSelectionTexts } from '../bulk/use-selection-texts';
import { own } from '../own';
import { useTexts } from '../texts/language';
import type { Operation } from './use-operation';

/** Says in one line which fields of which users a bulk change or deletion changes. */
export function RequestLine({ operation: { kind, request } }: { operation: Operation }): ReactNode {
  const { fields } = useTexts({ en, de });
  const textsOf = useSelectionTexts();
  if (kind !== 'change' && kind !== 'delete') return null;
  const { whole, conditions } = textsOf((request['filters'] ?? {}) as Record<string, string>);
  const selection = [...(whole === undefined ? [] : [whole]), ...conditions].join(', ');
  const changed = Object.keys(request['change'] ?? {}).map((field) => own(fields, field) ?? field);
  const line = [changed.join(', '), selection].filter((part) => part !== '').join(' · ');
  return (
    <Text size="xs" c="dimmed" lineClamp={1} title={line}>
      {line}
    </Text>
  );
}
