import { Button, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { api, dataOf, type QueryOf, type Schema } from '../api/client';
import { DataTable } from '../components/lists/data-table';
import type { Column } from '../components/lists/stacked-rows';
import { useListParams } from '../components/lists/use-list-params';
import { Section } from '../components/page';
import { ProblemAlert } from '../components/forms/problem-alert';
import { useProblemForm } from '../components/forms/use-problem-form';
import { useMe } from '../session/use-me';
import { saveFile } from '../transfer/download';
import { type Operation, skippedRowsQuery } from './data';
import { RowErrors } from './row-errors';
import { useOperationsTexts } from './use-operations-texts';

type Row = Schema<'SkippedRowResponse'>;
type Query = QueryOf<'listSkippedRows'>;

const noFilters = {};

/** Shows the rows that an import skipped, with a download for correction. */
export function SkippedRows({ operation }: { operation: Operation }): ReactNode {
  const texts = useOperationsTexts();
  const { user, can } = useMe();
  const form = useProblemForm();
  const path = { operation_id: operation.operation_id };
  const params = useListParams<Query>(noFilters);
  const list = useQuery(skippedRowsQuery(operation, params.query));
  const download = () =>
    form.submit(async () => {
      const headers = { accept: 'text/csv' };
      const route = '/user/operation/{operation_id}/skipped';
      const file = await dataOf(api.GET(route, { params: { path }, headers, parseAs: 'blob' }));
      saveFile(file, `${operation.operation_id}-skipped.csv`);
    });
  const columns: Column<Row>[] = [
    { key: 'line', title: texts.line, render: ({ line }) => line, sortable: true, width: 90 },
    { key: 'errors', title: texts.errors, render: ({ errors, cells }) => <RowErrors errors={errors} cells={cells} /> },
    { key: 'cells', title: texts.row, render: ({ cells }) => (cells === null ? texts.unreadable : textOf(cells)) },
  ];
  const mayDownload = operation.actor_id === user.user_id || can('user:export');
  return (
    <Section
      title={texts.skippedRows}
      actions={
        <>
          {mayDownload && (
            <Button variant="default" size="xs" loading={form.isSending} onClick={() => void download()}>
              {texts.downloadRows}
            </Button>
          )}
          {can('user:import') && (
            <Button variant="default" size="xs" component={Link} to="/users/import">
              {texts.importRows}
            </Button>
          )}
        </>
      }
    >
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {texts.skippedRowsHint}
        </Text>
        <ProblemAlert error={form.problem} />
        <DataTable
          label={texts.figures.rows}
          columns={columns}
          idOf={({ line }) => String(line)}
          list={list}
          params={params}
          defaultSort={{ order_by: 'line', order_dir: 'asc' }}
        />
      </Stack>
    </Section>
  );
}

/** Returns the cells that identify a row, or all cells if there are none. */
function textOf(cells: Record<string, string>): string {
  const known = ['name', 'email', 'carrier_id'].flatMap((name) => cells[name] || []);
  return known.length > 0 ? known.join(' · ') : Object.values(cells).filter(Boolean).join(' · ');
}
