import { NativeSelect } from '@mantine/core';
import type { ReactNode } from 'react';
import { useShellTexts } from '../texts/use-shell-texts';
import type { ListParams } from './use-list-params';

interface SortSelectProps {
  columns: { key: string; title: string; sortable?: boolean }[];
  params: ListParams<object>;
  defaultSort: { order_by: string; order_dir: 'asc' | 'desc' } | undefined;
}

/** Selects the order of a list without a table header, as on a phone. */
export function SortSelect({ columns, params, defaultSort }: SortSelectProps): ReactNode {
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
