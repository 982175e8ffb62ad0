import { Checkbox, MultiSelect, NativeSelect, Radio, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, dataOf, type QueryOf, type Schema } from '../api/client';
import { exportUsersFilters } from '../api/filters';
import { Dialog, DialogButtons } from '../components/dialogs/dialog';
import { attributePrefix } from '../components/filter/conditions';
import { Form } from '../components/forms/form';
import { ProblemAlert } from '../components/forms/problem-alert';
import { useProblemForm } from '../components/forms/use-problem-form';
import { useMe } from '../session/use-me';
import { useLanguage } from '../texts/language';
import { usersQuery } from '../users/data';
import { fieldsWith } from '../users/fields';
import { downloadFrom } from './download';
import { labelIn } from './table-file';
import { useTransferTexts } from './use-transfer-texts';

type Format = 'csv' | 'ndjson';
type Query = QueryOf<'createExportLink'>;
type Delimiter = Schema<'CsvDelimiter'>;
type ExportColumn = Schema<'ExportColumn'>;

const delimiters = ['comma', 'semicolon', 'tab'] as const satisfies Delimiter[];
const exportColumns = fieldsWith('file');

interface ExportDialogProps {
  opened: boolean;
  onClose: () => void;
  /** parameters of the list of users */
  values: Record<string, string>;
}

/** Asks for the format of an export, and starts the download. */
export function ExportDialog({ opened, onClose, values }: ExportDialogProps): ReactNode {
  const texts = useTransferTexts();
  return (
    <Dialog opened={opened} onClose={onClose} title={texts.export.title}>
      <ExportForm filter={filterOf(values)} showsDeleted={values['deleted'] === 'true'} onClose={onClose} />
    </Dialog>
  );
}

interface ExportFormProps {
  filter: Query;
  /** whether the list shows deleted users, which exports never contain */
  showsDeleted: boolean;
  onClose: () => void;
}

function ExportForm({ filter, showsDeleted, onClose }: ExportFormProps): ReactNode {
  const texts = useTransferTexts();
  const { can } = useMe();
  const form = useProblemForm();
  const [format, setFormat] = useState<Format>('csv');
  const language = useLanguage();
  // Spreadsheets in German separate cells by semicolons, and all need the mark for umlauts.
  const [delimiter, setDelimiter] = useState<Delimiter>(language === 'de' ? 'semicolon' : 'comma');
  const [bom, setBom] = useState(true);
  const [columns, setColumns] = useState<string[]>([]);
  const [withHashes, setWithHashes] = useState(false);
  const hashes = format === 'ndjson' && withHashes;
  const start = async () => {
    const isStarted = await form.submit(async () => {
      const query: Query = {
        ...filter,
        format,
        ...(columns.length > 0 ? { column_in: columns as ExportColumn[] } : {}),
        ...(format === 'csv' ? { delimiter, bom } : {}),
        ...(hashes ? { hashes } : {}),
      };
      const { url } = await dataOf(api.POST('/user/export/link', { params: { query } }));
      downloadFrom(url);
    });
    if (isStarted) onClose();
  };
  return (
    <Form onSubmit={start}>
      <ExportedUsers filter={filter} />
      {showsDeleted && <Text size="sm">{texts.export.withoutDeleted}</Text>}
      <Radio.Group
        label={texts.export.format}
        value={format}
        onChange={(chosen) => setFormat(chosen === 'ndjson' ? chosen : 'csv')}
      >
        <Stack gap="xs" mt="xs">
          <Radio value="csv" label={texts.export.csv} description={texts.export.csvHint} data-autofocus />
          <Radio value="ndjson" label={texts.export.ndjson} description={texts.export.ndjsonHint} />
        </Stack>
      </Radio.Group>
      {format === 'csv' && (
        <>
          <NativeSelect
            label={texts.export.delimiter}
            value={delimiter}
            onChange={(event) => setDelimiter(event.currentTarget.value as Delimiter)}
            data={delimiters.map((one) => ({ value: one, label: texts.export.delimiters[one] }))}
          />
          <Checkbox label={texts.export.bom} checked={bom} onChange={(event) => setBom(event.currentTarget.checked)} />
        </>
      )}
      <MultiSelect
        label={texts.export.columns}
        placeholder={columns.length === 0 ? texts.export.allColumns : undefined}
        data={exportColumns.map((column) => ({ value: column, label: labelIn(language, column) }))}
        value={columns}
        onChange={setColumns}
        searchable
        clearable
        clearButtonProps={{ 'aria-label': texts.export.clearColumns }}
      />
      {format === 'ndjson' && can('user:purge') && (
        <Checkbox
          label={texts.export.hashes}
          description={texts.export.hashesHint}
          checked={withHashes}
          onChange={(event) => setWithHashes(event.currentTarget.checked)}
        />
      )}
      <ProblemAlert error={form.problem} />
      <DialogButtons onCancel={onClose} isSending={form.isSending}>
        {texts.export.submit}
      </DialogButtons>
    </Form>
  );
}

/** Shows how many users the file will contain. */
function ExportedUsers({ filter }: { filter: Query }): ReactNode {
  const texts = useTransferTexts();
  const { data } = useQuery(usersQuery({ ...filter, per_page: 1 }));
  if (data === undefined) return <Skeleton height={20} width={220} />;
  const { value, relation } = data.total ?? { value: 0, relation: 'approx' };
  const isFiltered = Object.keys(filter).length > 0;
  return <Text size="sm">{texts.export.users(value, relation === 'eq', isFiltered)}</Text>;
}

/** Returns the filter of the list, without parameters that an export does not support. */
function filterOf(values: Record<string, string>): Query {
  const names = new Set(
    Object.entries(exportUsersFilters).flatMap(([field, { operators }]) => operators.map((one) => `${field}${one}`)),
  );
  return Object.fromEntries(
    Object.entries(values).filter(([name]) => names.has(name) || name.startsWith(attributePrefix)),
  );
}
