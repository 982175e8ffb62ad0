import {
  Button,
  Checkbox,
  Group,
  NativeSelect,
  Skeleton,
  Stack,
  Text,
  UnstyledButton,
  VisuallyHidden,
} from '@mantine/core';
import { IconChevronDown, IconChevronLeft, IconChevronRight, IconChevronUp, IconSelector } from '@tabler/icons-react';
import clsx from 'clsx';
import { type ChangeEvent, memo, type ReactNode, useRef } from 'react';
import { useShortcuts } from '../../shell/shortcuts';
import { useFormats } from '../../texts/formats';
import { useShellTexts } from '../../texts/use-shell-texts';
import { EmptyState } from '../page';
import { ProblemAlert } from '../forms/problem-alert';
import { useIsPhone } from '../use-is-phone';
import classes from './data-table.module.css';
import { type Column, StackedRows } from './stacked-rows';
import { type ListParams, pageSizes } from './use-list-params';

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
    <div className={classes.list}>
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
        <div
          role="region"
          aria-label={label}
          tabIndex={0}
          className={clsx(classes.region, list.isFetching && classes.fetching)}
        >
          <WideTable
            {...{ label, columns, idOf, nameOf, items, actions, selected, onSelect }}
            orderBy={order_by}
            orderDir={order_dir}
            set={params.set}
          />
        </div>
      )}
      {data !== undefined && <Pager page={data} params={params} />}
    </div>
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

// Plain elements: components of Mantine in all cells would slow down page changes.
function Rows<Row>(props: WideTableProps<Row>): ReactNode {
  const { label, columns, idOf, nameOf = idOf, items, actions, selected = [], onSelect } = props;
  const texts = useShellTexts().table;
  const chosen = new Set(selected.map(idOf));
  const last = useRef(0);
  const toggle = (index: number, event: ChangeEvent<HTMLInputElement>) => {
    const isRange = (event.nativeEvent as MouseEvent).shiftKey;
    const [from, to] = isRange ? [Math.min(index, last.current), Math.max(index, last.current)] : [index, index];
    const changed = items.slice(from, to + 1);
    last.current = index;
    choose(changed, event.currentTarget.checked);
  };
  const choose = (rows: Row[], isChosen: boolean) => {
    const ids = new Set(rows.map(idOf));
    onSelect?.([...selected.filter((row) => !ids.has(idOf(row))), ...(isChosen ? rows : [])]);
  };
  const chosenHere = items.filter((row) => chosen.has(idOf(row))).length;
  return (
    <table className={classes.table} aria-label={label}>
      <thead>
        <tr>
          {onSelect !== undefined && (
            <th className={classes.narrow}>
              <Checkbox
                size="xs"
                aria-label={texts.selectAll}
                checked={chosenHere === items.length}
                indeterminate={chosenHere > 0 && chosenHere < items.length}
                onChange={(event) => choose(items, event.currentTarget.checked)}
              />
            </th>
          )}
          {columns.map((column) => (
            <HeaderCell key={column.key} {...props} column={column} />
          ))}
          {actions !== undefined && (
            <th scope="col" className={classes.narrow}>
              <VisuallyHidden>{texts.actions}</VisuallyHidden>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {items.map((row, index) => (
          <tr key={idOf(row)} data-selected={chosen.has(idOf(row)) || undefined}>
            {onSelect !== undefined && (
              <td className={classes.narrow}>
                <Checkbox
                  size="xs"
                  aria-label={texts.select(nameOf(row))}
                  checked={chosen.has(idOf(row))}
                  onChange={(event) => toggle(index, event)}
                />
              </td>
            )}
            {columns.map(({ key, render, isFluid }) => (
              <td key={key} className={isFluid === true ? classes.fluid : undefined}>
                {render(row)}
              </td>
            ))}
            {actions !== undefined && <td className={classes.narrow}>{actions(row)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/**
 * Renders only if its props change. A click on "Next" changes no row until the next page has
 * loaded: this saves 37 of 97 ms of processor time for 25 rows.
 */
const WideTable = memo(Rows) as typeof Rows;

/** Names a column. A column to sort by has a button, and announces its order (`aria-sort`). */
function HeaderCell<Row>({
  column: { key, title, sortable = false, width },
  orderBy,
  orderDir,
  set,
}: Pick<WideTableProps<Row>, 'orderBy' | 'orderDir' | 'set'> & { column: Column<Row> }): ReactNode {
  if (!sortable)
    return (
      <th scope="col" style={{ width }}>
        {title}
      </th>
    );
  const isSorted = key === orderBy;
  const isAscending = orderDir === 'asc';
  const Icon = isSorted ? (isAscending ? IconChevronUp : IconChevronDown) : IconSelector;
  const sort = () => set({ order_by: key, order_dir: isSorted ? (isAscending ? 'desc' : 'asc') : firstDirection(key) });
  return (
    <th scope="col" style={{ width }} aria-sort={isSorted ? (isAscending ? 'ascending' : 'descending') : 'none'}>
      <UnstyledButton className={classes.sort} onClick={sort}>
        {title}
        <Icon size={14} aria-hidden />
      </UnstyledButton>
    </th>
  );
}

/** Returns the direction of the first click on a column: newest first for times, else ascending. */
function firstDirection(key: string): 'asc' | 'desc' {
  return key.endsWith('_at') ? 'desc' : 'asc';
}

/** One page of a list of the API. */
export interface ListPage<Row> {
  items: Row[];
  /** absent if the list has only one page, with all rows */
  per_page?: number;
  next_cursor: string | null;
  total: { value: number; relation: 'eq' | 'approx' } | null;
}

/** Shows the number of rows, their number per page, and buttons to turn the page (keys K and J). */
function Pager({ page, params }: { page: ListPage<unknown>; params: ListParams<object> }): ReactNode {
  const texts = useShellTexts().table;
  const { number } = useFormats();
  const { items, per_page, next_cursor, total } = page;
  const next = () => next_cursor !== null && params.next(next_cursor);
  const previous = () => params.page > 0 && params.previous();
  useShortcuts({ j: next, k: previous });
  const hasPages = next_cursor !== null || params.page > 0;
  return (
    <Group justify="space-between" gap="xs">
      <Text size="sm" c="dimmed" role="status">
        {total !== null && total.value > 0 && texts.total(number.format(total.value), total.relation === 'eq')}
      </Text>
      <Group gap="xs" className="no-print">
        {per_page !== undefined && (hasPages || items.length > Number(pageSizes[0])) && (
          <NativeSelect
            size="xs"
            aria-label={texts.perPage}
            data={pageSizes.map((value) => ({ value, label: texts.rows(value) }))}
            value={String(params.perPage)}
            onChange={(event) => params.setPerPage(event.currentTarget.value)}
          />
        )}
        {hasPages && (
          <>
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
          </>
        )}
      </Group>
    </Group>
  );
}
