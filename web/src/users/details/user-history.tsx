import { Button, Group, Stack, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useChanges } from '../../audit/changes';
import { type AuditEvent, historyQuery, type Names } from '../../audit/data';
import { ActorText } from '../../audit/event-parties';
import { useAuditTexts } from '../../audit/use-audit-texts';
import { useEventName } from '../../audit/use-event-name';
import { AddressLink } from '../../components/address-link';
import { EmptyState, PageSkeleton } from '../../components/page';
import { ProblemAlert } from '../../components/forms/problem-alert';
import { TimeText } from '../../components/time-text';
import type { User } from '../data';
import { useUserNames } from '../use-user-names';
import { useUsersTexts } from '../use-users-texts';
import classes from '../users.module.css';

/** Shows the events about a user, newest first. */
export function UserHistory({ user }: { user: User }): ReactNode {
  const texts = useUsersTexts().history;
  const history = useInfiniteQuery(historyQuery(user.user_id));
  const events = history.data?.pages.flatMap(({ items }) => items) ?? [];
  const names = useUserNames(events.map(({ actor_type, actor_id }) => (actor_type === 'user' ? actor_id : null)));
  if (history.isPending) return <PageSkeleton />;
  return (
    <Stack gap="md" maw={800}>
      <ProblemAlert error={history.error} onRetry={() => void history.refetch()} />
      {events.length === 0 && history.error === null && <EmptyState title={texts.empty} />}
      <ul className={classes.list}>
        {events.map((event) => (
          <HistoryItem key={event.event_id} event={event} names={names} />
        ))}
      </ul>
      {history.hasNextPage && (
        <Group>
          <Button variant="default" loading={history.isFetchingNextPage} onClick={() => void history.fetchNextPage()}>
            {texts.more}
          </Button>
        </Group>
      )}
    </Stack>
  );
}

function HistoryItem({ event, names }: { event: AuditEvent; names: Names }): ReactNode {
  const nameOf = useEventName();
  return (
    <li className={classes.item}>
      <Group justify="space-between" align="baseline" gap="xs">
        <Text fw={500}>{nameOf(event.event_type)}</Text>
        <Text size="sm" c="dimmed" component="div">
          <TimeText value={event.occurred_at} />
        </Text>
      </Group>
      <Text size="sm" c="dimmed" component="div">
        <ActorText event={event} names={names} />
        {event.ip !== null && (
          <>
            {' · '}
            <AddressLink ip={event.ip} isInText />
          </>
        )}
      </Text>
      <ChangeList changes={event.changes} />
    </li>
  );
}

/** Shows the changed fields of an event of the audit log, as before → after. */
function ChangeList({ changes }: { changes: Record<string, unknown> }): ReactNode {
  const order = Object.keys(useAuditTexts().keys);
  const describe = useChanges();
  const shown = Object.entries(changes).filter(([, change]) => !isEmptyFromTheStart(change));
  if (shown.length === 0) return null;
  return (
    <dl className={classes.facts}>
      {describe(Object.fromEntries(shown))
        .sort((one, other) => order.indexOf(one.key) - order.indexOf(other.key))
        .map(({ key, name, before, after }) => (
          <div key={key} className={classes.change}>
            <Text component="dt" size="sm">
              {name}
            </Text>
            <Text component="dd" size="sm">
              {before !== null && (
                <>
                  <span className={classes.before}>{before}</span>
                  {' → '}
                </>
              )}
              {after}
            </Text>
          </div>
        ))}
    </dl>
  );
}

/** Returns whether a change only records that a new field is empty. */
function isEmptyFromTheStart(change: unknown): boolean {
  const { before, after } = change as { before?: unknown; after?: unknown };
  if (before !== undefined) return false;
  const isEmpty = typeof after === 'object' && after !== null && Object.keys(after).length === 0;
  return after === null || after === '' || after === false || isEmpty;
}
