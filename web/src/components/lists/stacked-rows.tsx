import { Checkbox, Group, NativeSelect, Paper, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useShellTexts } from '../../texts/use-shell-texts';
import classes from './stacked-rows.module.css';
import type { ListParams } from './use-list-params';

/** A column of a table. */
export interface Column<Row> {
  /** name of the field; the name to sort by, if `sortable` */
  key: string;
  title: string;
  render: (row: Row) => ReactNode;
  sortable?: boolean;
  width?: number | string;
  /** whether the column takes the space that others leave; its content must be able to shrink */
  isFluid?: boolean;
  /** whether stacked rows omit it on phones */
  hideOnPhone?: boolean;
}

interface StackedRowsProps<Row> {
  label: string;
  columns: Column<Row>[];
  idOf: (row: Row) => string;
  nameOf?: (row: Row) => string;
  items: Row[];
  params: ListParams<object>;
  defaultSort?: { order_by: string; order_dir: 'asc' | 'desc' };
  actions?: (row: Row) => ReactNode;
  selected?: Row[];
  onSelect?: (rows: Row[]) => void;
}

/**
 * Shows the rows of a table as cards, for phones: the first column as title, the other columns
 * below it with their names.
 */
export function StackedRows<Row>(props: StackedRowsProps<Row>): ReactNode {
  const { label, columns, idOf, nameOf = idOf, items, params, defaultSort, actions, selected = [], onSelect } = props;
  const texts = useShellTexts().table;
  const [first, ...others] = columns.filter(({ hideOnPhone }) => hideOnPhone !== true);
  const isSelected = (row: Row) => selected.some((one) => idOf(one) === idOf(row));
  const toggle = (row: Row) =>
    onSelect?.(isSelected(row) ? selected.filter((one) => idOf(one) !== idOf(row)) : [...selected, row]);
  const elsewhere = selected.filter((one) => items.every((row) => idOf(row) !== idOf(one)));
  return (
    <Stack gap="xs">
      <Group justify="space-between" className={classes.tools}>
        {onSelect !== undefined && (
          <Checkbox
            label={texts.all}
            aria-label={texts.selectAll}
            checked={items.every(isSelected)}
            indeterminate={items.some(isSelected) && !items.every(isSelected)}
            onChange={(event) => onSelect([...elsewhere, ...(event.currentTarget.checked ? items : [])])}
          />
        )}
        <SortSelect columns={columns} params={params} defaultSort={defaultSort} />
      </Group>
      <Stack component="ul" gap="xs" p={0} m={0} aria-label={label} className={classes.list}>
        {items.map((row) => (
          <Paper key={idOf(row)} component="li" withBorder p="sm" radius="md">
            <Group justify="space-between" wrap="nowrap" align="flex-start">
              <Group wrap="nowrap" gap="sm" className={classes.title}>
                {onSelect !== undefined && (
                  <Checkbox
                    checked={isSelected(row)}
                    onChange={() => toggle(row)}
                    aria-label={texts.select(nameOf(row))}
                  />
                )}
                <Text fw={600} component="div" className={classes.title}>
                  {first?.render(row)}
                </Text>
              </Group>
              {actions !== undefined && <div className={classes.actions}>{actions(row)}</div>}
            </Group>
            <dl className={classes.fields}>
              {others.map(({ key, title, render }) => (
                <div key={key} className={classes.field}>
                  <dt>{title}</dt>
                  <dd>{render(row)}</dd>
                </div>
              ))}
            </dl>
          </Paper>
        ))}
      </Stack>
    </Stack>
  );
}

interface SortSelectProps {
  columns: { key: string; title: string; sortable?: boolean }[];
  params: ListParams<object>;
  defaultSort: { order_by: string; order_dir: 'asc' | 'desc' } | undefined;
}

/** Selects the order of a list without a table header, as on a phone. */
function SortSelect({ columns, params, defaultSort }: SortSelectProps): ReactNode {
  const texts = useShellTexts().table;
  const { order_by = defaultSort?.order_by ?? '', order_dir = defaultSort?.order_dir ?? 'desc' } = params.values;
  const sortable = columns.filter((column) => column.sortable === true);
  if (sortable.length === 0) return null;
  const value = `${order_by} ${order_dir}`;
  const data = sortable.flatMap(({ key, title }) => [
    { value: `${key} asc`, label: `${title} ↑` },
    { value: `${key} desc`, label: `${title} ↓` },
  ]);
  return (
    <NativeSelect
      size="xs"
      aria-label={texts.sort}
      value={value}
      data={data.some((one) => one.value === value) ? data : [{ value, label: texts.sort }, ...data]}
      onChange={(event) => {
        const [by = '', dir = ''] = event.currentTarget.value.split(' ');
        params.set({ order_by: by, order_dir: dir });
      }}
    />
  );
}
