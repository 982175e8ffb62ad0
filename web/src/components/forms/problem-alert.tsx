import { Alert, Button, Group, List, Text } from '@mantine/core';
import { IconAlertCircle } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { ApiProblem, type FieldError } from '../../api/problems';
import { useLanguage } from '../../texts/language';
import { useErrorTexts } from '../../texts/use-error-texts';
import { useShellTexts } from '../../texts/use-shell-texts';
import { durationText } from '../time-text';

/**
 * Shows a problem: what happened, what to do next, each invalid field or parameter, and the request
 * id for the operator. Renders nothing without a problem.
 */
export function ProblemAlert({ error, onRetry }: { error: unknown; onRetry?: () => void }): ReactNode {
  const { textOf, fieldTextOf } = useErrorTexts();
  const texts = useShellTexts();
  const language = useLanguage();
  if (error === null || error === undefined) return null;
  const problem = error instanceof ApiProblem ? error : null;
  // The texts of these errors already say when to try again.
  const isServerError = problem !== null && problem.status >= 500;
  return (
    <Alert role="alert" color="red" variant="light" icon={<IconAlertCircle aria-hidden />}>
      <Text size="sm">{textOf(error)}</Text>
      {problem !== null && problem.errors.length > 0 && (
        <List size="sm" mt={4} withPadding={false}>
          {problem.errors.map((invalid) => (
            <List.Item key={`${nameOf(invalid)} ${invalid.code}`}>
              {[nameOf(invalid), fieldTextOf(invalid)].filter((part) => part !== '').join(': ')}
            </List.Item>
          ))}
        </List>
      )}
      {problem !== null && problem.retryAfter !== null && !isServerError && (
        <Text size="sm">{texts.problem.retryIn(durationText(problem.retryAfter, language))}</Text>
      )}
      {isServerError && problem.requestId !== null && (
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

/** Returns the name of the invalid parameter or field, or empty if the error names none. */
function nameOf({ parameter, pointer = '' }: FieldError): string {
  return parameter ?? pointer.slice(1);
}
