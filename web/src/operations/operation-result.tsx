import { Progress, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useLanguage, useTexts } from '../texts/language';
import { operationsTexts as de } from './texts.de';
import { operationsTexts as en } from './texts.en';
import type { Operation } from './use-operation';

/** Shows the result of an operation in one line, or its progress. */
export function OperationResult({ operation }: { operation: Operation }): ReactNode {
  const texts = useTexts({ en, de });
  const language = useLanguage();
  const { kind, matched, processed, changed, skipped_count, finished_at, undone_by } = operation;
  const number = (value: number) => value.toLocaleString(language);
  if (finished_at === null)
    return <Progress value={matched === 0 ? 0 : (processed / matched) * 100} aria-label={texts.progress} miw={120} />;
  const parts = [
    `${number(changed)} ${texts.result.changed[kind]}`,
    ...(skipped_count > 0 ? [texts.result.skipped(number(skipped_count))] : []),
    ...(undone_by === null ? [] : [texts.result.undone]),
  ];
  return (
    <Text span inherit>
      {parts.join(' · ')}
    </Text>
  );
}
