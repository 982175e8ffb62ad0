import { Button, Group } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, dataOf, type QueryOf } from '../api/client';
import { listEventsFilters } from '../api/filters';
import type { FilterFields } from '../components/filter/conditions';
import { FilterBuilder } from '../components/filter/filter-builder';
import { DataTable } from '../components/lists/data-table';
import type { Column } from '../components/lists/stacked-rows';
import { useListParams } from '../components/lists/use-list-params';
import { PageHeader } from '../components/page';
import { exactTime, TimeText } from '../components/time-text';
import { useMe } from '../session/use-me';
import { useLanguage, useTexts } from '../texts/language';
import { useUserNames } from '../users/use-user-names';
import { UserPicker } from '../users/user-picker';
import classes from './audit.module.css';
import { ChangeSummary } from './change-summary';
import { EventDetails } from './event-details';
import { ActorText, type AuditEvent, TargetText, usersOf } from './event-parties';
import { auditTexts as de } from './texts.de';
import { auditTexts as en } from './texts.en';
import { useEventName } from './use-event-name';

type Query = QueryOf<'listEvents'>;

// The total number of events is large and of no use to readers.
const withoutTotal = { fixed: { count: 'none' } };

const fields: FilterFields = {
  ...listEventsFilters,
  // The API accepts any text, because later versions may add types. Offer names to choose from.
  event_type: { kind: 'choice', choices: Object.keys(en.types), operators: ['', '_in', '_ne'] },
  target_type: { kind: 'choice', choices: Object.keys(en.targetType), operators: ['', '_in', '_ne', '_isnull'] },
};

/** Shows the audit log: what happened, who did it, what changed. */
export function AuditPage(): ReactNode {
  const texts = useTexts({ en, de });
  const language = useLanguage();
  const { can } = useMe();
  const nameOf = useEventName();
  const [opened, setOpened] = useState<AuditEvent | null>(null);
  const params = useListParams<Query>(fields, withoutTotal);
  const list = useQuery({
    queryKey: ['audit', 'list', params.query],
    queryFn: ({ signal }) => dataOf(api.GET('/audit/list', { params: { query: params.query }, signal })),
    placeholderData: keepPreviousData,
  });
  const filtered = ['actor_id', 'target_id'].flatMap((field) => params.values[field] ?? []);
  const names = useUserNames([...filtered, ...(list.data?.items ?? []).flatMap(usersOf)]);
  const columns: Column<AuditEvent>[] = [
    {
      key: 'event_type',
      title: texts.fields.event_type,
      render: ({ event_type }) => <span className={classes.event}>{nameOf(event_type)}</span>,
    },
    {
      key: 'target_id',
      title: texts.fields.target_id,
      render: (event) => <TargetText event={event} names={names} />,
    },
    {
      key: 'changes',
      title: texts.fields.changes,
      render: ({ changes }) => <ChangeSummary changes={changes} />,
    },
    {
      key: 'actor_id',
      title: texts.fields.actor_id,
      render: (event) => (
        <>
          <ActorText event={event} names={names} />
          <br />
          <span className={classes.address}>{event.ip}</span>
        </>
      ),
    },
    {
      key: 'occurred_at',
      title: texts.fields.occurred_at,
      sortable: true,
      render: ({ occurred_at }) => <TimeText value={occurred_at} />,
    },
  ];
  return (
    <>
      <PageHeader title={texts.title} description={texts.description} />
      <Group gap="xs" mb="sm">
        {can('user:read') && <UserPicker label={texts.findUser} onPick={(target_id) => params.set({ target_id })} />}
        <FilterBuilder
          fields={fields}
          names={{
            fields: texts.fields,
            choices: {
              event_type: texts.types,
              target_type: texts.targetType,
              actor_type: texts.actorType,
              actor_id: names,
              target_id: names,
            },
          }}
          params={params}
        />
      </Group>
      <DataTable
        label={texts.title}
        columns={columns}
        idOf={({ event_id }) => event_id}
        list={list}
        params={params}
        defaultSort={{ order_by: 'occurred_at', order_dir: 'desc' }}
        actions={(event) => (
          <Button
            variant="subtle"
            color="gray"
            size="compact-sm"
            onClick={() => setOpened(event)}
            aria-label={texts.detailsOf(nameOf(event.event_type), exactTime(new Date(event.occurred_at), language))}
          >
            {texts.details}
          </Button>
        )}
        empty={{ title: texts.empty }}
      />
      <EventDetails event={opened} names={names} onClose={() => setOpened(null)} />
    </>
  );
}
