import { Button, Group, Progress, Radio, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useNavigate } from 'react-router';
import { changed } from '../api/stale';
import { BackLink, PageHeader, Section } from '../components/page';
import { ProblemAlert } from '../components/forms/problem-alert';
import { newIdempotencyKey } from '../components/forms/use-idempotency-key';
import { useProblemForm } from '../components/forms/use-problem-form';
import { useMe } from '../session/use-me';
import { formatOf } from './bad-rows';
import { ColumnMapping } from './column-mapping';
import { checkFile, importFile, type ImportOptions, type ImportPreview } from './data';
import { FileDrop } from './file-drop';
import { ImportReport } from './import-report';
import { cellsAt, type Encoding, encodingOf, type TableForm, tableFormOf, toImportFile } from './table-file';
import { useTransferTexts } from './use-transfer-texts';

/** The result of a check. */
interface Checked {
  /** the file as it was sent */
  file: File;
  preview: ImportPreview;
  /** cells of the rows with errors, by line and column */
  cells: Map<number, Record<string, string>>;
  /** idempotency keys of the import that follows, with and without invitations */
  keys: { invite: string; silent: string };
}

/** Imports users from a file: select, check, import. */
export function ImportPage(): ReactNode {
  const texts = useTransferTexts().import;
  const { can } = useMe();
  const navigate = useNavigate();
  const form = useProblemForm();
  const [file, setFile] = useState<File | null>(null);
  const [table, setTable] = useState<TableForm | null>(null);
  const [onConflict, setOnConflict] = useState<ImportOptions['on_conflict']>('fail');
  const [checked, setChecked] = useState<Checked | null>(null);
  const discardCheck = () => {
    setChecked(null);
    form.clear();
  };
  const changeTable = (changes: TableForm | null) => {
    discardCheck();
    setTable(changes);
  };
  // A corrected file has the titles of the file before.
  const read = async (chosen: File, encoding?: Encoding) =>
    changeTable(await tableFormOf(chosen, encoding ?? (await encodingOf(chosen)), table));
  const take = (chosen: File) => {
    setFile(chosen);
    changeTable(null);
    if (formatOf(chosen) === 'csv') void form.submit(() => read(chosen));
  };
  const check = (chosen: File) =>
    form.submit(async () => {
      const sent = table === null ? chosen : await toImportFile(chosen, table);
      const preview = await checkFile(sent, onConflict);
      const lines = preview.skipped.map(({ line = 0 }) => line);
      const cells = await cellsAt(sent, table !== null, lines);
      setChecked({ file: sent, preview, cells, keys: { invite: newIdempotencyKey(), silent: newIdempotencyKey() } });
    });
  const start = async ({ file: sent, keys }: Checked, invite: boolean) => {
    const options = { on_conflict: onConflict, invite };
    const operation_id = await importFile(sent, options, invite ? keys.invite : keys.silent);
    void changed('operations');
    await navigate(`/operations/${operation_id}`);
  };
  return (
    <>
      {can('user:read') && <BackLink to="/users">{texts.back}</BackLink>}
      <PageHeader title={texts.title} description={texts.text} />
      <Stack gap="md">
        <Section title={texts.source}>
          <Stack gap="md">
            <FileDrop file={file} onChange={take} />
            {file !== null && table !== null && (
              <ColumnMapping
                table={table}
                onChange={changeTable}
                onEncoding={(encoding) => void form.submit(() => read(file, encoding))}
              />
            )}
            <Radio.Group
              label={texts.onConflict}
              value={onConflict}
              onChange={(value) => {
                discardCheck();
                setOnConflict(value === 'skip' ? value : 'fail');
              }}
            >
              <Group gap="lg" mt="xs">
                <Radio value="fail" label={texts.fail} />
                <Radio value="skip" label={texts.skip} />
              </Group>
            </Radio.Group>
            <ProblemAlert error={form.problem} />
            <Group justify="flex-end">
              <Button
                variant={checked === null ? 'filled' : 'default'}
                disabled={file === null}
                loading={form.isSending}
                onClick={() => file !== null && void check(file)}
              >
                {texts.check}
              </Button>
            </Group>
            {form.isSending && (
              <div>
                <Text size="sm" role="status" mb={4}>
                  {texts.checking} {texts.keepOpen}
                </Text>
                <Progress value={100} animated aria-label={texts.checking} />
              </div>
            )}
          </Stack>
        </Section>
        {checked !== null && !form.isSending && (
          <ImportReport key={checked.keys.invite} {...checked} onImport={(invite) => start(checked, invite)} />
        )}
      </Stack>
    </>
  );
}
