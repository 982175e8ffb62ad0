import { Button, Group, Progress, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { QueryOf } from '../api/client';
import { listOperationsFilters } from '../api/filters';
import { useBulkTexts } from '../bulk/use-bulk-texts';
import { useSelectionTexts } from '../bulk/use-selection-texts';
import { FilterBuilder } from '../components/filter/filter-builder';
import { DataTable } from '../components/lists/data-table';
import type { Column } from '../components/lists/stacked-rows';
import { useListParams } from '../components/lists/use-list-params';
import { PageHeader } from '../components/page';
import { TimeText } from '../components/time-text';
import { own } from '../own';
import { useLanguage } from '../texts/language';
import { useUserNames } from '../users/use-user-names';
import { type Operation, operationsQuery } from './data';
import { OperationActor, OperationStatus, OperationTitle } from './operation-labels';
import { effectOf } from './operation-progress';
import { useOperationsTexts } from './use-operations-texts';

type Query = QueryOf<'listOperations'>;

/** Lists operations: bulk changes, undos and imports. */
export function OperationsPage(): ReactNode {
  const texts = useOperationsTexts();
  const params = useListParams<Query>(listOperationsFilters);
  const list = useQuery(operationsQuery(params.query));
  const people = (list.data?.items ?? []).filter(({ actor_type }) => actor_type === 'user');
  const names = useUserNames(people.map(({ actor_id }) => actor_id));
  const columns: Column<Operation>[] = [
    {
      key: 'kind',
      title: texts.columns.operation,
      render: (operation) => (
        <>
          <OperationTitle operation={operation} />
          <RequestLine operation={operation} />
        </>
      ),
    },
    { key: 'status', title: texts.columns.status, render: ({ status }) => <OperationStatus status={status} /> },
    { key: 'changed', title: texts.columns.result, render: (operation) => <OperationResult operation={operation} /> },
    {
      key: 'actor_id',
      title: texts.columns.by,
      render: (operation) => <OperationActor operation={operation} names={names} />,
    },
    {
      key: 'created_at',
      title: texts.columns.created,
      render: ({ created_at }) => <TimeText value={created_at} />,
      sortable: true,
    },
  ];
  return (
    <>
      <PageHeader title={texts.title} description={texts.text} />
      <Group gap="xs" mb="sm">
        <FilterBuilder
          fields={listOperationsFilters}
          names={{
            fields: texts.fields,
            choices: { kind: texts.kind, status: texts.status, actor_type: texts.actorType },
          }}
          params={params}
        />
      </Group>
      <DataTable
        label={texts.title}
        columns={columns}
        idOf={({ operation_id }) => operation_id}
        list={list}
        params={params}
        defaultSort={{ order_by: 'created_at', order_dir: 'desc' }}
        empty={{
          title: texts.empty,
          hint: texts.emptyHint,
          action: (
            <Button component={Link} to="/users" variant="default">
              {texts.toUsers}
            </Button>
          ),
        }}
      />
    </>
  );
}

/** Says in one line which fields of which users a bulk change or deletion changes. */
function RequestLine({ operation: { kind, request } }: { operation: Operation }): ReactNode {
  const { fields } = useBulkTexts();
  const textsOf = useSelectionTexts();
  if (kind !== 'change' && kind !== 'delete') return null;
  const { whole, conditions } = textsOf((request['filters'] ?? {}) as Record<string, string>);
  const selection = [...(whole === undefined ? [] : [whole]), ...conditions].join(', ');
  const changed = Object.keys(request['change'] ?? {}).map((field) => own(fields, field) ?? field);
  const line = [changed.join(', '), selection].filter((part) => part !== '').join(' · ');
  return (
    <Text size="xs" c="dimmed" lineClamp={1} title={line}>
      {line}
    </Text>
  );
}

/** Shows the result of an operation in one line, or its progress. */
function OperationResult({ operation }: { operation: Operation }): ReactNode {
  const texts = useOperationsTexts();
  const language = useLanguage();
  const { matched, processed, changed, skipped_count, finished_at, undone_by } = operation;
  const number = (value: number) => value.toLocaleString(language);
  if (finished_at === null)
    return <Progress value={matched === 0 ? 0 : (processed / matched) * 100} aria-label={texts.progress} miw={120} />;
  const parts = [
    `${number(changed)} ${texts.result.changed[effectOf(operation)]}`,
    ...(skipped_count > 0 ? [texts.result.skipped(number(skipped_count))] : []),
    ...(undone_by === null ? [] : [texts.result.undone]),
  ];
  return (
    <Text span inherit>
      {parts.join(' · ')}
    </Text>
  );
}
