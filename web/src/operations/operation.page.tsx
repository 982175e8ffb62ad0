import { Alert, Anchor, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link, useParams } from 'react-router';
import { BackLink } from '../components/back-link';
import { PageHeader } from '../components/page-header';
import { PageSkeleton } from '../components/page-skeleton';
import { ProblemAlert } from '../components/problem-alert';
import { Section } from '../components/section';
import { DateText, TimeText } from '../components/time-text';
import { useUserNames } from '../components/use-user-names';
import { useTexts } from '../texts/language';
import { OperationActions } from './operation-actions';
import { OperationActor } from './operation-actor';
import { OperationProgress } from './operation-progress';
import { useOperationTitle } from './operation-title';
import { RequestSummary } from './request-summary';
import { SkippedRows } from './skipped-rows';
import { SkippedUsers } from './skipped-users';
import { operationsTexts as de } from './texts.de';
import { operationsTexts as en } from './texts.en';
import { useReasonTexts } from './use-reason-texts';
import { type Operation, useOperation } from './use-operation';

/** Shows the progress of an operation, and its result. */
export function OperationPage(): ReactNode {
  const texts = useTexts({ en, de });
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
  const texts = useTexts({ en, de });
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
            <Anchor component={Link} to={`/operations/${undone_by}`} size="sm">
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
