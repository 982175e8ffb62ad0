import { SimpleGrid, Skeleton, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api, dataOf } from '../api/client';
import { PageHeader } from '../components/page';
import { ProblemAlert } from '../components/problem-alert';
import { TimeText } from '../components/time-text';
import { operationPermissions } from '../pages';
import { useMe } from '../session/use-me';
import { useTexts } from '../texts/language';
import { AttentionList } from './attention-list';
import { FigureCard } from './figure-card';
import { LoginsCard } from './logins-card';
import classes from './overview.module.css';
import { overviewTexts as de } from './texts.de';
import { overviewTexts as en } from './texts.en';
import { UsersCard } from './users-card';

// The service counts at most once a minute.
const refreshMs = 60_000;
const runningOperations = `/operations?${new URLSearchParams({ status_in: 'receiving,waiting,running' })}`;

/** Shows figures, the logins of the last 24 hours, and what needs attention. */
export function OverviewPage(): ReactNode {
  const texts = useTexts({ en, de });
  const { canAny } = useMe();
  const { data, error, refetch } = useQuery({
    queryKey: ['overview'],
    queryFn: ({ signal }) => dataOf(api.GET('/stats/overview', { signal })),
    refetchInterval: refreshMs,
  });
  if (data === undefined && error === null) return <OverviewSkeleton />;
  return (
    <>
      <PageHeader
        title={texts.title}
        description={
          data !== undefined && (
            <>
              {texts.asOf} <TimeText value={data.as_of} />
            </>
          )
        }
      />
      <Stack gap="md">
        <ProblemAlert error={error} onRetry={() => void refetch()} />
        {data !== undefined && (
          <div className={classes.columns}>
            <Stack gap="md">
              <AttentionList items={data.attention} />
              <UsersCard counts={data.users} />
            </Stack>
            <Stack gap="md">
              <SimpleGrid cols={2} spacing="md">
                <FigureCard label={texts.sessions} hint={texts.sessionsHint} value={data.sessions} to="/sessions" />
                <FigureCard
                  label={texts.operations}
                  hint={texts.operationsHint}
                  value={data.operations_running}
                  to={canAny(operationPermissions) ? runningOperations : undefined}
                />
              </SimpleGrid>
              <LoginsCard hours={data.logins} />
            </Stack>
          </div>
        )}
      </Stack>
    </>
  );
}

function OverviewSkeleton(): ReactNode {
  const texts = useTexts({ en, de });
  return (
    <>
      <PageHeader title={texts.title} description={<Skeleton component="span" display="block" height={14} w={140} />} />
      <div className={classes.columns} aria-hidden>
        <Stack gap="md">
          <Skeleton height={52} />
          <Skeleton height={220} />
        </Stack>
        <Stack gap="md">
          <SimpleGrid cols={2} spacing="md">
            <Skeleton height={104} />
            <Skeleton height={104} />
          </SimpleGrid>
          <Skeleton height={330} />
        </Stack>
      </div>
    </>
  );
}
