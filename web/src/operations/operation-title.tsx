import { Anchor } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { useLanguage, useTexts } from '../texts/language';
import { operationsTexts as de } from './texts.de';
import { operationsTexts as en } from './texts.en';
import type { Operation } from './use-operation';

/** Names an operation, with a link to its page. */
export function OperationTitle({ operation }: { operation: Operation }): ReactNode {
  const texts = useTexts({ en, de });
  const language = useLanguage();
  const { operation_id, kind, status, matched } = operation;
  return (
    <Anchor component={Link} to={`/operations/${operation_id}`} inherit fw={500}>
      {status === 'receiving' ? texts.receiving : texts.heading[kind](matched.toLocaleString(language))}
    </Anchor>
  );
}
