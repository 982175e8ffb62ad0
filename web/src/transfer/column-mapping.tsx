import { NativeSelect, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { useLanguage } from '../texts/language';
import { importColumns } from '../users/fields';
import { useUsersTexts } from '../users/use-users-texts';
import { columnOf, type Encoding, encodings, fixedColumns, labelIn, type TableForm } from './table-file';
import { useTransferTexts } from './use-transfer-texts';

interface ColumnMappingProps {
  table: TableForm;
  onChange: (table: TableForm) => void;
  /** Reads the file again in another encoding. */
  onEncoding: (encoding: Encoding) => void;
}

/**
 * Asks how to read a CSV file: its encoding, the meaning of columns with unknown titles, and values
 * that the file does not have.
 */
export function ColumnMapping({ table, onChange, onEncoding }: ColumnMappingProps): ReactNode {
  const texts = useTransferTexts().import.table;
  const { userType } = useUsersTexts();
  const language = useLanguage();
  const { encoding, titles, columns, fixed } = table;
  const free = importColumns.filter((column) => !columns.includes(column));
  const unknown = titles.flatMap((title, index) =>
    columnOf(title) === columns[index] && columns[index] ? [] : [index],
  );
  const missing = fixedColumns.filter((column) => free.includes(column));
  const fix = (column: string, value: string) => onChange({ ...table, fixed: { ...fixed, [column]: value } });
  const map = (index: number, column: string) => {
    const others = Object.entries(fixed).filter(([name]) => name !== column);
    onChange({ ...table, columns: columns.with(index, column), fixed: Object.fromEntries(others) });
  };
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, sm: 2, md: 3 }}>
        <NativeSelect
          label={texts.encoding}
          value={encoding}
          onChange={(event) => onEncoding(event.currentTarget.value as Encoding)}
          data={encodings.map((one) => ({ value: one, label: texts.encodings[one] }))}
        />
        {missing.includes('user_type') && (
          <NativeSelect
            label={texts.allRows(labelIn(language, 'user_type'))}
            value={fixed['user_type'] ?? ''}
            onChange={(event) => fix('user_type', event.currentTarget.value)}
            data={(['carrier', 'system'] as const).map((one) => ({ value: one, label: userType[one] }))}
          />
        )}
        {missing.includes('carrier_id') && fixed['user_type'] !== 'system' && (
          <TextInput
            label={texts.allRows(labelIn(language, 'carrier_id'))}
            value={fixed['carrier_id'] ?? ''}
            onChange={(event) => fix('carrier_id', event.currentTarget.value)}
          />
        )}
      </SimpleGrid>
      {unknown.length > 0 && (
        <>
          <Text size="sm">{texts.unknown}</Text>
          <SimpleGrid cols={{ base: 1, sm: 2, md: 3 }}>
            {unknown.map((index) => (
              <NativeSelect
                key={index}
                label={titles[index] === '' ? texts.untitled(index + 1) : titles[index]}
                value={columns[index] ?? ''}
                onChange={(event) => map(index, event.currentTarget.value)}
                data={[
                  { value: '', label: texts.ignore },
                  ...importColumns
                    .filter((column) => free.includes(column) || column === columns[index])
                    .map((column) => ({ value: column, label: labelIn(language, column) })),
                ]}
              />
            ))}
          </SimpleGrid>
        </>
      )}
    </Stack>
  );
}
