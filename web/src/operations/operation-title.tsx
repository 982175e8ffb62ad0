import { Anchor } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { useLanguage, useTexts } from '../texts/language';
import { operationsTexts as de } from './texts.de';
import { operationsTexts as en } from './texts.en';
import type { Operation } from './use-operation';

/** Returns the title of an operation, such as "Change of 12 users". */
export function useOperationTitle({ kind, status, matched }: Operation): string {
  const texts = useTexts({ en, de });
  const language = useLanguage();
  return status === 'receiving' ? texts.receiving : texts.heading[kind](matched.toLocaleString(language));
}

/** Names an operation, with a link to its page. */
export function OperationTitle({ operation }: { operation: Operation }): ReactNode {
  return (
    <Anchor component={Link} to={`/operations/${operation.operation_id}`} inherit fw={500}>
      {useOperationTitle(operation)}
    </Anchor>
  );
}
