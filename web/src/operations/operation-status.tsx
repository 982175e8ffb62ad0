import { Badge } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from '../texts/language';
import { operationsTexts as de } from './texts.de';
import { operationsTexts as en } from './texts.en';
import type { Operation } from './use-operation';

const colors: Record<Operation['status'], string> = {
  receiving: 'blue',
  waiting: 'blue',
  running: 'indigo',
  done: 'green',
  canceled: 'gray',
  failed: 'red',
};

/** Shows the status of an operation. */
export function OperationStatus({ status }: { status: Operation['status'] }): ReactNode {
  const texts = useTexts({ en, de });
  return (
    <Badge variant="light" color={colors[status]}>
      {texts.status[status]}
    </Badge>
  );
}
