import { Button, Group } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { api, dataOf, type QueryOf } from '../api/client';
import { listOperationsFilters } from '../api/filters';
import { type Column, DataTable } from '../components/data-table';
import { FilterBuilder } from '../components/filter/filter-builder';
import { PageHeader } from '../components/page-header';
import { TimeText } from '../components/time-text';
import { useListParams } from '../components/use-list-params';
import { useUserNames } from '../components/use-user-names';
import { useTexts } from '../texts/language';
import { OperationActor } from './operation-actor';
import { OperationResult } from './operation-result';
import { OperationStatus } from './operation-status';
import { OperationTitle } from './operation-title';
import { RequestLine } from './request-line';
import { operationsTexts as de } from './texts.de';
import { operationsTexts as en } from './texts.en';
import type { Operation } from './use-operation';

type Query = QueryOf<'listOperations'>;

/** Polling interval while the list contains operations that have not ended, in milliseconds. */
const pollEveryMs = 3_000;

/** Lists operations: bulk changes, undos and imports. */
export function OperationsPage(): ReactNode {
  const texts = useTexts({ en, de });
  const params = useListParams<Query>(listOperationsFilters);
  const list = useQuery({
    queryKey: ['operations', 'list', params.query],
    queryFn: ({ signal }) => dataOf(api.GET('/user/operation/list', { params: { query: params.query }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data?.items.some(({ finished_at }) => finished_at === null) === true ? pollEveryMs : false,
  });
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
