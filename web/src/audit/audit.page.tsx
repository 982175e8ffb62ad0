import { Button, Group, Text, UnstyledButton } from '@mantine/core';
import { IconChevronDown, IconChevronRight, IconDownload } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { listEventsFilters } from '../api/filters';
import { AddressLink } from '../components/address-link';
import type { FilterFields } from '../components/filter/conditions';
import { FilterBuilder } from '../components/filter/filter-builder';
import { DataTable } from '../components/lists/data-table';
import type { Column } from '../components/lists/stacked-rows';
import { useListParams } from '../components/lists/use-list-params';
import { PageHeader } from '../components/page';
import { LogTime } from '../components/time-text';
import { useMe } from '../session/use-me';
import { useFormats } from '../texts/formats';
import { UserPicker } from '../users/user-picker';
import classes from './audit.module.css';
import { ChangeSummary } from './change-summary';
import { type AuditEvent, type AuditQuery, eventsQuery, type Names, useNames } from './data';
import { EventDetails } from './event-details';
import { ActorText, OperationText, TargetText } from './event-parties';
import { ExportDialog } from './export-dialog';
import { type AuditRow, rowsOf } from './rows';
import { auditTexts as en } from './texts.en';
import { TimePresets } from './time-presets';
import { useAuditTexts } from './use-audit-texts';
import { useEventName } from './use-event-name';

// The total number of events is large and of no use to readers.
const withoutTotal = { fixed: { count: 'none' } };

const fields: FilterFields = {
  ...listEventsFilters,
  // The API accepts any text, because later versions may add types. Offer names to choose from.
  event_type: { kind: 'choice', choices: Object.keys(en.types), operators: ['', '_in', '_ne'] },
  target_type: { kind: 'choice', choices: Object.keys(en.targetType), operators: ['', '_in', '_ne', '_isnull'] },
};

/** Shows the audit log: what happened, when, who did it, what changed. */
export function AuditPage(): ReactNode {
  const texts = useAuditTexts();
  const { can } = useMe();
  const [opened, setOpened] = useState<AuditEvent | null>(null);
  const [isExporting, setIsExporting] = useState(false);
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const params = useListParams<AuditQuery>(fields, withoutTotal);
  const { data, ...list } = useQuery(eventsQuery(params.query));
  const filtered = ['actor_id', 'target_id'].flatMap((field) => params.values[field] ?? []);
  const names = useNames(data?.items ?? [], filtered);
  const toggle = (id: string) =>
    setUnfolded((ids) => new Set(ids.has(id) ? [...ids].filter((one) => one !== id) : [...ids, id]));
  // A list of one operation is not folded.
  const items = (data?.items ?? []).map((event) => ({ event, folded: null }));
  const rows = params.values['operation_id'] === undefined ? rowsOf(data?.items ?? [], unfolded) : items;
  const keyLabel = can('key:manage') ? texts.actorType.key : undefined;
  return (
    <>
      <PageHeader
        title={texts.title}
        description={texts.description}
        actions={
          <Button
            variant="default"
            leftSection={<IconDownload size={16} aria-hidden />}
            onClick={() => setIsExporting(true)}
          >
            {texts.export.open}
          </Button>
        }
      />
      <Group gap="xs" mb="sm">
        {can('user:read') && (
          <>
            <UserPicker label={texts.findActor} keyLabel={keyLabel} onPick={(actor_id) => params.set({ actor_id })} />
            <UserPicker
              label={texts.findTarget}
              keyLabel={keyLabel}
              onPick={(target_id) => params.set({ target_id })}
              hasShortcut={false}
            />
          </>
        )}
        <TimePresets params={params} />
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
        columns={useColumns(names, unfolded, toggle)}
        idOf={({ event, folded }) => (folded === null ? event.event_id : `operation ${event.operation_id}`)}
        list={data === undefined ? list : { ...list, data: { ...data, items: rows } }}
        params={params}
        defaultSort={{ order_by: 'occurred_at', order_dir: 'desc' }}
        actions={(row) => (
          <RowAction row={row} onOpen={setOpened} onLeaveOut={(operation_id_ne) => params.set({ operation_id_ne })} />
        )}
        empty={{ title: texts.empty }}
      />
      <EventDetails event={opened} names={names} onClose={() => setOpened(null)} />
      <ExportDialog opened={isExporting} onClose={() => setIsExporting(false)} query={params.query} />
    </>
  );
}

function useColumns(
  names: Names,
  unfolded: ReadonlySet<string>,
  toggle: (operation_id: string) => void,
): Column<AuditRow>[] {
  const texts = useAuditTexts();
  const nameOf = useEventName();
  const { fields: titles } = texts;
  return [
    {
      key: 'event_type',
      title: titles.event_type,
      render: ({ event, folded }) => {
        if (folded === null) return <div className={classes.event}>{nameOf(event.event_type)}</div>;
        const isOpen = unfolded.has(event.operation_id ?? '');
        const Icon = isOpen ? IconChevronDown : IconChevronRight;
        return (
          <div className={classes.event}>
            <UnstyledButton fz="inherit" aria-expanded={isOpen} onClick={() => toggle(event.operation_id ?? '')}>
              <Icon size={14} aria-hidden className={classes.chevron} />
              {texts.folded(folded.length)}
            </UnstyledButton>
            <Text size="xs" c="dimmed">
              {[...new Set(folded.map(({ event_type }) => nameOf(event_type)))].join(', ')}
            </Text>
          </div>
        );
      },
    },
    {
      key: 'occurred_at',
      title: titles.occurred_at,
      sortable: true,
      render: ({ event }) => <LogTime value={event.occurred_at} />,
    },
    {
      key: 'actor_id',
      title: titles.actor_id,
      render: ({ event }) => (
        <>
          <ActorText event={event} names={names} />
          {event.ip !== null && (
            <Text size="xs" component="div">
              <AddressLink ip={event.ip} />
            </Text>
          )}
        </>
      ),
    },
    {
      key: 'target_id',
      title: titles.target_id,
      render: ({ event, folded }) =>
        folded === null ? (
          <TargetText event={event} names={names} />
        ) : (
          <OperationText operation_id={event.operation_id ?? ''} />
        ),
    },
    {
      key: 'changes',
      title: titles.changes,
      isFluid: true,
      render: ({ event, folded }) => folded === null && <ChangeSummary changes={event.changes} />,
    },
  ];
}

interface RowActionProps {
  row: AuditRow;
  onOpen: (event: AuditEvent) => void;
  onLeaveOut: (operation_id: string) => void;
}

/** Shows the details of an event, or removes the events of an operation from the list. */
function RowAction({ row: { event, folded }, onOpen, onLeaveOut }: RowActionProps): ReactNode {
  const texts = useAuditTexts();
  const nameOf = useEventName();
  const { full } = useFormats();
  const [text, label, act] =
    folded === null
      ? [
          texts.details,
          texts.detailsOf(nameOf(event.event_type), full.format(new Date(event.occurred_at))),
          () => onOpen(event),
        ]
      : [texts.leaveOut, texts.leaveOutOf(folded.length), () => onLeaveOut(event.operation_id ?? '')];
  return (
    <Button variant="subtle" color="gray" size="compact-sm" onClick={act} aria-label={label}>
      {text}
    </Button>
  );
}
