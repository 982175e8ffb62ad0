import { Group, Progress, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { type Figure, Figures } from '../components/facts';
import { durationText } from '../components/time-text';
import { useLanguage, useTexts } from '../texts/language';
import { OperationStatus } from './operation-labels';
import { operationsTexts as de } from './texts.de';
import { operationsTexts as en } from './texts.en';
import type { Operation } from './use-operation';

/** Returns what an operation does to users. The undo of an import deletes them. */
export function effectOf({ kind, request }: Pick<Operation, 'kind' | 'request'>): Operation['kind'] {
  return kind === 'undo' && request['undoes'] === 'import' ? 'delete' : kind;
}

/** Counts that are shown unless they are 0. */
const further = ['with_factors', 'with_keys', 'links_restored', 'links_expired'] as const;

/** Shows the progress of an operation with rate and remaining time, and its figures. */
export function OperationProgress({ operation }: { operation: Operation }): ReactNode {
  const texts = useTexts({ en, de });
  const language = useLanguage();
  const { kind, status, matched, processed, rate_per_second, remaining_seconds, finished_at } = operation;
  const number = (value: number) => value.toLocaleString(language);
  const figures: Figure[] = [
    { label: kind === 'import' ? texts.figures.rows : texts.figures.matched, value: matched },
    { label: texts.figures.changed[effectOf(operation)], value: operation.changed },
    { label: texts.figures.unchanged[kind === 'import' ? 'import' : 'other'], value: operation.unchanged },
    { label: texts.figures.skipped, value: operation.skipped_count, needsAttention: true },
    ...further
      .filter((name) => operation[name] > 0)
      .map((name) => ({
        label: texts.figures[name],
        value: operation[name],
        needsAttention: name !== 'links_restored',
      })),
  ];
  const isKnown = status !== 'receiving' && matched > 0;
  return (
    <Stack gap="md">
      <Group gap="sm">
        <OperationStatus status={status} />
        <Text size="sm" c="dimmed">
          {[
            ...(isKnown ? [texts.processed(number(processed), number(matched))] : []),
            ...(rate_per_second === null ? [] : [texts.rate(number(rate_per_second))]),
            ...(remaining_seconds === null ? [] : [texts.remaining(durationText(remaining_seconds, language))]),
          ].join(' · ')}
        </Text>
      </Group>
      {finished_at === null && (
        <Progress
          value={isKnown ? (processed / matched) * 100 : 100}
          animated={!isKnown}
          size="lg"
          radius="xl"
          aria-label={texts.progress}
        />
      )}
      <Figures figures={figures} />
    </Stack>
  );
}
