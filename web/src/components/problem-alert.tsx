import { Alert, Button, Group, List, Text } from '@mantine/core';
import { IconAlertCircle } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { ApiProblem, type FieldError } from '../api/problems';
import { useLanguage } from '../texts/language';
import { useErrorTexts } from '../texts/use-error-texts';
import { useShellTexts } from '../texts/use-shell-texts';
import { durationText } from './time-text';

/**
 * Shows a problem: what happened, what to do next, each fault with the parameter or field it is at,
 * and the request id for the operator. Nothing without a problem.
 */
export function ProblemAlert({ error, onRetry }: { error: unknown; onRetry?: () => void }): ReactNode {
  const { textOf, fieldTextOf } = useErrorTexts();
  const texts = useShellTexts();
  const language = useLanguage();
  if (error === null || error === undefined) return null;
  const problem = error instanceof ApiProblem ? error : null;
  // The texts of these already say when to try again.
  const isServersFault = problem !== null && problem.status >= 500;
  return (
    <Alert role="alert" color="red" variant="light" icon={<IconAlertCircle aria-hidden />}>
      <Text size="sm">{textOf(error)}</Text>
      {problem !== null && problem.errors.length > 0 && (
        <List size="sm" mt={4} withPadding={false}>
          {problem.errors.map((fault) => (
            <List.Item key={`${placeOf(fault)} ${fault.code}`}>
              {[placeOf(fault), fieldTextOf(fault)].filter((part) => part !== '').join(': ')}
            </List.Item>
          ))}
        </List>
      )}
      {problem !== null && problem.retryAfter !== null && !isServersFault && (
        <Text size="sm">{texts.problem.retryIn(durationText(problem.retryAfter, language))}</Text>
      )}
      {isServersFault && problem.requestId !== null && (
        <Text size="xs" mt={4}>
          {texts.problem.requestId(problem.requestId)}
        </Text>
      )}
      {onRetry !== undefined && (
        <Group mt="xs">
          <Button size="xs" variant="default" onClick={onRetry}>
            {texts.tryAgain}
          </Button>
        </Group>
      )}
    </Alert>
  );
}

/** Returns the parameter or the field that is wrong, or empty if the fault names none. */
function placeOf({ parameter, pointer = '' }: FieldError): string {
  return parameter ?? pointer.slice(1);
}
