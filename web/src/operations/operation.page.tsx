import { Alert, Anchor, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link, useParams } from 'react-router';
import { ChangeSummary } from '../bulk/change-summary';
import { SelectionSummary } from '../bulk/selection-summary';
import { BackLink, PageHeader, PageSkeleton, Section } from '../components/page';
import { ProblemAlert } from '../components/forms/problem-alert';
import { DateText, TimeText } from '../components/time-text';
import { useShellTexts } from '../texts/use-shell-texts';
import { useUserNames } from '../users/use-user-names';
import { type Operation, useOperation } from './data';
import { OperationActions } from './operation-actions';
import { OperationActor, useOperationTitle } from './operation-labels';
import { effectOf, OperationProgress } from './operation-progress';
import { useReasonTexts } from './row-errors';
import { SkippedRows } from './skipped-rows';
import { SkippedUsers } from './skipped-users';
import { useOperationsTexts } from './use-operations-texts';

/** Shows the progress of an operation, and its result. */
export function OperationPage(): ReactNode {
  const texts = useOperationsTexts();
  const { operationId = '' } = useParams();
  const { data: operation, error, refetch } = useOperation(operationId);
  return (
    <>
      <BackLink to="/operations">{texts.back}</BackLink>
      {operation === undefined && error === null && <PageSkeleton />}
      <ProblemAlert error={error} onRetry={() => void refetch()} />
      {operation !== undefined && <OperationDetails operation={operation} />}
    </>
  );
}

function OperationDetails({ operation }: { operation: Operation }): ReactNode {
  const texts = useOperationsTexts();
  const { reasonOf } = useReasonTexts();
  const names = useUserNames(operation.actor_type === 'user' ? [operation.actor_id] : []);
  const { kind, created_at, error_code, undone_by, undo_until } = operation;
  return (
    <>
      <PageHeader
        title={useOperationTitle(operation)}
        description={
          <>
            {texts.startedBy} <OperationActor operation={operation} names={names} you={texts.byYou} /> ·{' '}
            <TimeText value={created_at} />
          </>
        }
        actions={<OperationActions operation={operation} />}
      />
      <Stack gap="md">
        {error_code !== null && (
          <Alert color="red" variant="light" title={texts.failed}>
            {reasonOf(error_code)}
          </Alert>
        )}
        {undone_by !== null && (
          <Alert color="blue" variant="light">
            {texts.undone}{' '}
            <Anchor component={Link} to={`/operations/${undone_by}`} inherit underline="always">
              {texts.undoing}
            </Anchor>
          </Alert>
        )}
        <Section title={operation.finished_at === null ? texts.progress : texts.outcome}>
          <OperationProgress operation={operation} />
          {undo_until !== null && (
            <Text size="sm" c="dimmed" mt="sm">
              {texts.undoUntil} <DateText value={undo_until} />
            </Text>
          )}
        </Section>
        <Section title={texts.request}>
          <RequestSummary operation={operation} />
        </Section>
        {operation.skipped_count > 0 &&
          (kind === 'import' ? (
            <SkippedRows operation={operation} />
          ) : (
            <Section title={texts.skippedUsers}>
              <SkippedUsers counts={operation} />
            </Section>
          ))}
      </Stack>
    </>
  );
}

/** Shows the request of an operation. */
function RequestSummary({ operation }: { operation: Operation }): ReactNode {
  const texts = useOperationsTexts();
  const { yes, no } = useShellTexts().filter;
  const { kind, undo_of, request } = operation;
  if (kind === 'undo')
    return (
      <Text size="sm">
        {effectOf(operation) === 'delete' ? texts.undoOfImport : texts.undoOf}{' '}
        <Anchor component={Link} to={`/operations/${undo_of}`} inherit underline="always">
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
