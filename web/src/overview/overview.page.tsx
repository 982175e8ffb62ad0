import { SimpleGrid, Skeleton, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { PageHeader } from '../components/page';
import { ProblemAlert } from '../components/forms/problem-alert';
import { TimeText } from '../components/time-text';
import { operationPermissions } from '../operations/permissions';
import { useMe } from '../session/use-me';
import { AttentionList } from './attention-list';
import { overviewQuery } from './data';
import { FigureCard } from './figure-card';
import { HealthStrip } from './health-strip';
import { LoginsCard } from './logins-card';
import classes from './overview.module.css';
import { useOverviewTexts } from './use-overview-texts';
import { UsersCard } from './users-card';

const runningOperations = `/operations?${new URLSearchParams({ status_in: 'receiving,waiting,running' })}`;

/** Shows what needs attention, the health of the service, and figures. */
export function OverviewPage(): ReactNode {
  const texts = useOverviewTexts();
  const { canAny } = useMe();
  const { data, error, refetch } = useQuery(overviewQuery());
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
          <>
            <AttentionList items={data.attention} health={data.health} />
            {data.health !== undefined && <HealthStrip health={data.health} />}
            <div className={classes.columns}>
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
                <UsersCard counts={data.users} />
              </Stack>
              <LoginsCard hours={data.logins} />
            </div>
          </>
        )}
      </Stack>
    </>
  );
}

function OverviewSkeleton(): ReactNode {
  const texts = useOverviewTexts();
  return (
    <>
      <PageHeader title={texts.title} description={<Skeleton component="span" display="block" height={14} w={140} />} />
      <Stack gap="md" aria-hidden>
        <Skeleton height={52} />
        <Skeleton height={108} />
        <div className={classes.columns}>
          <Stack gap="md">
            <SimpleGrid cols={2} spacing="md">
              <Skeleton height={104} />
              <Skeleton height={104} />
            </SimpleGrid>
            <Skeleton height={220} />
          </Stack>
          <Skeleton height={340} />
        </div>
      </Stack>
    </>
  );
}
