import { Anchor, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { ChangeSummary } from '../bulk/change-summary';
import { SelectionSummary } from '../bulk/selection-summary';
import { useTexts } from '../texts/language';
import { useShellTexts } from '../texts/use-shell-texts';
import { operationsTexts as de } from './texts.de';
import { operationsTexts as en } from './texts.en';
import type { Operation } from './use-operation';

/** Shows the request of an operation. */
export function RequestSummary({ operation }: { operation: Operation }): ReactNode {
  const texts = useTexts({ en, de });
  const { yes, no } = useShellTexts().filter;
  const { kind, undo_of, request } = operation;
  if (kind === 'undo')
    return (
      <Text size="sm">
        {texts.undoOf}{' '}
        <Anchor component={Link} to={`/operations/${undo_of}`} size="sm">
          {texts.toOriginal}
        </Anchor>
      </Text>
    );
  if (kind === 'import')
    return (
      <Text size="sm">
        {texts.conflicts.label}: {request['on_conflict'] === 'skip' ? texts.conflicts.skip : texts.conflicts.fail}
        <br />
        {texts.invite}: {request['invite'] === true ? yes : no}
      </Text>
    );
  return (
    <Stack gap="sm">
      <SelectionSummary filters={(request['filters'] ?? {}) as Record<string, string>} />
      {kind === 'delete' ? (
        <Text size="sm">{texts.deletion}</Text>
      ) : (
        <ChangeSummary change={(request['change'] ?? {}) as Record<string, unknown>} />
      )}
    </Stack>
  );
}
