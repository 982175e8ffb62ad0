import { Button, Group, Skeleton, Stack, Text, VisuallyHidden } from '@mantine/core';
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import { DataTable as MantineDataTable, type DataTableSortStatus } from 'mantine-datatable';
import { memo, type ReactNode } from 'react';
import { useShortcuts } from '../../shell/shortcuts';
import { useLanguage } from '../../texts/language';
import { useShellTexts } from '../../texts/use-shell-texts';
import { EmptyState } from '../page';
import { ProblemAlert } from '../problem-alert';
import { useIsPhone } from '../use-is-phone';
import classes from './data-table.module.css';
import { type Column, StackedRows } from './stacked-rows';
import type { ListParams } from './use-list-params';

import 'mantine-datatable/styles.layer.css';

interface DataTableProps<Row> {
  /** name of the table for screen readers */
  label: string;
  columns: Column<Row>[];
  idOf: (row: Row) => string;
  /** result of `useQuery` */
  list: {
    data?: ListPage<Row> | undefined;
    isPending: boolean;
    isFetching: boolean;
    error: unknown;
    refetch: () => unknown;
  };
  params: ListParams<object>;
  /** order of the list if the URL has none */
  defaultSort?: { order_by: string; order_dir: 'asc' | 'desc' };
  /** buttons or a menu at the right of each row */
  actions?: (row: Row) => ReactNode;
  /** Returns the name of a row, for its checkbox; default = its id */
  nameOf?: (row: Row) => string;
  selected?: Row[];
  onSelect?: (rows: Row[]) => void;
  /** texts of an empty list without a filter */
  empty?: { title: string; hint?: string; action?: ReactNode };
}

const skeletonRows = 8;
/** Removes the empty state of `mantine-datatable`. `EmptyState` is shown instead. */
const noEmptyState = <></>;
/** Shrinks the column of actions to its content. `width` of a column would cut the actions off. */
const shrinkToContent = () => ({ width: 1 });

/**
 * Shows one page of a list, as a table with a sticky header or, on a phone, as stacked rows. Shows
 * skeletons while the list loads, the next step if it is empty, and buttons to change the page.
 */
export function DataTable<Row extends object>(props: DataTableProps<Row>): ReactNode {
  const { list, params, empty, defaultSort, label, columns, idOf, nameOf, actions, selected, onSelect } = props;
  const { order_by = defaultSort?.order_by ?? '', order_dir = defaultSort?.order_dir ?? 'desc' } = params.values;
  const texts = useShellTexts().table;
  const isPhone = useIsPhone();
  const { data, isPending, error, refetch } = list;
  if (data === undefined && isPending)
    return (
      <Stack gap="xs" aria-hidden>
        {Array.from({ length: skeletonRows }, (_, row) => (
          <Skeleton key={row} height={36} />
        ))}
      </Stack>
    );
  const items = data?.items ?? [];
  return (
    <Stack gap="sm">
      <ProblemAlert error={error} onRetry={() => void refetch()} />
      {items.length === 0 ? (
        error !== null ? null : params.isFiltered ? (
          <EmptyState
            title={texts.emptyFiltered}
            hint={texts.emptyFilteredHint}
            action={
              <Button variant="default" onClick={params.clear}>
                {texts.clear}
              </Button>
            }
          />
        ) : (
          <EmptyState {...(empty ?? { title: texts.empty })} />
        )
      ) : isPhone ? (
        <StackedRows {...props} items={items} />
      ) : (
        // The rows stay while the next page loads.
        <div className={list.isFetching ? classes.fetching : undefined}>
          <WideTable
            {...{ label, columns, idOf, nameOf, items, actions, selected, onSelect }}
            orderBy={order_by}
            orderDir={order_dir}
            set={params.set}
          />
        </div>
      )}
      {data !== undefined && <Pager page={data} params={params} />}
    </Stack>
  );
}

interface WideTableProps<Row> extends Pick<
  DataTableProps<Row>,
  'label' | 'columns' | 'idOf' | 'nameOf' | 'actions' | 'selected' | 'onSelect'
> {
  items: Row[];
  orderBy: string;
  orderDir: string;
  set: ListParams<object>['set'];
}

function Rows<Row extends object>(props: WideTableProps<Row>): ReactNode {
  const { label, columns, idOf, nameOf = idOf, items, orderBy, orderDir, set, actions, selected, onSelect } = props;
  const texts = useShellTexts().table;
  const sortStatus = { columnAccessor: orderBy, direction: orderDir } as DataTableSortStatus<Row>;
  return (
    <MantineDataTable<Row>
      withTableBorder
      highlightOnHover
      borderRadius="md"
      verticalSpacing={6}
      // A focused row must not hide below the sticky header (WCAG 2.4.11).
      scrollAreaProps={{
        viewportProps: {
          role: 'region',
          'aria-label': label,
          tabIndex: 0,
          style: { maxHeight: 'calc(100dvh - 14rem)', scrollPaddingTop: '3rem' },
        },
      }}
      idAccessor={(row) => idOf(row)}
      records={items}
      // Screen readers would read the text of the hidden layer below the rows.
      emptyState={noEmptyState}
      sortStatus={sortStatus}
      onSortStatusChange={({ columnAccessor, direction }) => {
        const key = String(columnAccessor);
        set({ order_by: key, order_dir: key === orderBy ? direction : firstDirection(key) });
      }}
      columns={[
        ...columns.map(({ key, title, render, sortable = false, width }) => ({
          accessor: key,
          title,
          render,
          sortable,
          ...(width === undefined ? {} : { width }),
        })),
        ...(actions === undefined
          ? []
          : [
              {
                accessor: '_actions',
                title: <VisuallyHidden>{texts.actions}</VisuallyHidden>,
                render: actions,
                textAlign: 'right' as const,
                cellsStyle: shrinkToContent,
              },
            ]),
      ]}
      {...(onSelect === undefined
        ? {}
        : {
            selectedRecords: selected ?? [],
            onSelectedRecordsChange: onSelect,
            getRecordSelectionCheckboxProps: (row: Row) => ({ 'aria-label': texts.select(nameOf(row)) }),
            allRecordsSelectionCheckboxProps: { 'aria-label': texts.selectAll },
          })}
    />
  );
}

/**
 * Renders only if its props change. A click on "Next" changes no row until the next page has
 * loaded: this saves 37 of 97 ms of processor time for 25 rows.
 */
const WideTable = memo(Rows) as typeof Rows;

/** Returns the direction of the first click on a column: newest first for times, else ascending. */
function firstDirection(key: string): 'asc' | 'desc' {
  return key.endsWith('_at') ? 'desc' : 'asc';
}

/** One page of a list of the API. */
export interface ListPage<Row> {
  items: Row[];
  next_cursor: string | null;
  total: { value: number; relation: 'eq' | 'approx' } | null;
}

/** Shows the total number of rows, and buttons for the previous and next page (keys K and J). */
function Pager({ page, params }: { page: ListPage<unknown>; params: ListParams<object> }): ReactNode {
  const texts = useShellTexts().table;
  const language = useLanguage();
  const { next_cursor, total } = page;
  const next = () => next_cursor !== null && params.next(next_cursor);
  const previous = () => params.page > 0 && params.previous();
  useShortcuts({ j: next, k: previous });
  return (
    <Group justify="space-between" className={classes.pager}>
      <Text size="sm" c="dimmed" role="status">
        {total !== null &&
          total.value > 0 &&
          texts.total(total.value.toLocaleString(language), total.relation === 'eq')}
      </Text>
      {(next_cursor !== null || params.page > 0) && (
        <Group gap="xs">
          <Button
            variant="default"
            size="xs"
            disabled={params.page === 0}
            onClick={previous}
            leftSection={<IconChevronLeft size={16} aria-hidden />}
          >
            {texts.previous}
          </Button>
          <Button
            variant="default"
            size="xs"
            disabled={next_cursor === null}
            onClick={next}
            rightSection={<IconChevronRight size={16} aria-hidden />}
          >
            {texts.next}
          </Button>
        </Group>
      )}
    </Group>
  );
}
