import { Button, Group, Stack, Table, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { type Figure, Figures } from '../components/facts';
import { Section } from '../components/page';
import { ProblemAlert } from '../components/forms/problem-alert';
import { durationText } from '../components/time-text';
import { useProblemForm } from '../components/forms/use-problem-form';
import { RowErrors, useReasonTexts } from '../operations/row-errors';
import { useLanguage } from '../texts/language';
import { type BadRow, badRowsOf } from './bad-rows';
import type { ImportPreview } from './data';
import { saveFile } from './download';
import classes from './import-report.module.css';
import { useTransferTexts } from './use-transfer-texts';

interface ImportReportProps {
  file: File;
  preview: ImportPreview;
  /** cells of the rows with errors, by line and column */
  cells: Map<number, Record<string, string>>;
  /** Imports the good rows. The user chooses whether new users without a password are invited. */
  onImport: (invite: boolean) => Promise<unknown>;
}

const rowsShownAtOnce = 25;
const wrapping = { root: classes.button, label: classes.label };

/** Shows the result of a check: what an import would create, and which rows have errors. */
export function ImportReport({ file, preview, cells, onImport }: ImportReportProps): ReactNode {
  const texts = useTransferTexts().import;
  const language = useLanguage();
  const form = useProblemForm();
  const { fieldReasonOf } = useReasonTexts();
  const { matched, would_create, unchanged, skipped_count, mails, mails_seconds } = preview;
  const badRows = preview.skipped.map(({ line = 0, errors = [] }): BadRow => ({ line, errors }));
  // The result of a check lists the first 100 rows with errors.
  const listsAll = badRows.length === skipped_count;
  const figures: Figure[] = [
    { label: texts.rows, value: matched },
    { label: texts.wouldCreate, value: would_create },
    ...(unchanged > 0 ? [{ label: texts.unchanged, value: unchanged }] : []),
    { label: texts.bad, value: skipped_count, needsAttention: true },
  ];
  const advice = () => {
    if (matched === 0) return texts.noRows;
    if (would_create === 0) return skipped_count === 0 ? texts.nothingNew : texts.noneGood;
    if (skipped_count === 0) return texts.allGood(would_create);
    return (listsAll ? texts.someBad : texts.manyBad)(skipped_count);
  };
  const download = () =>
    form.submit(async () => saveFile(await badRowsOf(file, badRows, fieldReasonOf), correctionName(file.name)));
  return (
    <Section title={texts.result} isRevealed>
      <Stack gap="md">
        <Figures figures={figures} />
        <Text size="sm" role="status">
          {advice()}
        </Text>
        {mails > 0 && <Text size="sm">{texts.inviteQuestion(mails, durationText(mails_seconds, language))}</Text>}
        <ProblemAlert error={form.problem} />
        <Group gap="xs">
          {would_create > 0 && mails > 0 && (
            <Button
              classNames={wrapping}
              loading={form.isSending}
              onClick={() => void form.submit(() => onImport(true))}
            >
              {texts.submitInvite(would_create, mails)}
            </Button>
          )}
          {would_create > 0 && (
            <Button
              classNames={wrapping}
              variant={mails > 0 ? 'default' : 'filled'}
              loading={form.isSending}
              onClick={() => void form.submit(() => onImport(false))}
            >
              {(mails > 0 ? texts.submitSilent : texts.submit)(would_create)}
            </Button>
          )}
          {badRows.length > 0 && listsAll && (
            <Button classNames={wrapping} variant="default" onClick={() => void download()}>
              {texts.download(badRows.length)}
            </Button>
          )}
        </Group>
        {form.isSending && (
          <Text size="sm" c="dimmed" role="status">
            {texts.uploading} {texts.keepOpen}
          </Text>
        )}
        {badRows.length > 0 && <BadRows rows={badRows} cells={cells} total={skipped_count} />}
      </Stack>
    </Section>
  );
}

interface BadRowsProps extends Pick<ImportReportProps, 'cells'> {
  rows: BadRow[];
  total: number;
}

function BadRows({ rows, cells, total }: BadRowsProps): ReactNode {
  const texts = useTransferTexts().import;
  const language = useLanguage();
  const [shown, setShown] = useState(rowsShownAtOnce);
  const visible = rows.slice(0, shown);
  return (
    <div>
      <Text size="sm" fw={600} mb={4}>
        {visible.length === total
          ? texts.errors
          : texts.onlyFirst(visible.length.toLocaleString(language), total.toLocaleString(language))}
      </Text>
      <Table verticalSpacing={6} aria-label={texts.errors}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th w={80}>{texts.line}</Table.Th>
            <Table.Th>{texts.reason}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {visible.map(({ line, errors }) => (
            <Table.Tr key={line}>
              <Table.Td>{line.toLocaleString(language)}</Table.Td>
              <Table.Td>
                <RowErrors errors={errors} cells={cells.get(line)} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {visible.length < rows.length && (
        <Button variant="subtle" size="xs" mt="xs" onClick={() => setShown(shown + rowsShownAtOnce)}>
          {texts.showMore}
        </Button>
      )}
    </div>
  );
}

function correctionName(name: string): string {
  const dot = name.lastIndexOf('.');
  return dot <= 0 ? `${name}-errors` : `${name.slice(0, dot)}-errors${name.slice(dot)}`;
}
