import { Button, Group, Progress, Radio, Stack, Text } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Dialog, DialogButtons } from '../components/dialogs/dialog';
import { Form } from '../components/forms/form';
import { ProblemAlert } from '../components/forms/problem-alert';
import { useFormats } from '../texts/formats';
import { useShellTexts } from '../texts/use-shell-texts';
import { saveFile } from '../transfer/download';
import { type AuditQuery, readEvents } from './data';
import { exportEvents, type ExportFormat, exportMax } from './export-file';
import { useAuditTexts } from './use-audit-texts';

interface ExportDialogProps {
  opened: boolean;
  onClose: () => void;
  /** filter and order of the list */
  query: AuditQuery;
}

/** Asks for a format, and saves the events of the list as a file. Closing the dialog cancels it. */
export function ExportDialog({ opened, onClose, query }: ExportDialogProps): ReactNode {
  return (
    <Dialog opened={opened} onClose={onClose} title={useAuditTexts().export.title}>
      <ExportForm query={query} onClose={onClose} />
    </Dialog>
  );
}

function ExportForm({ query, onClose }: Omit<ExportDialogProps, 'opened'>): ReactNode {
  const texts = useAuditTexts().export;
  const { cancel } = useShellTexts();
  const { number } = useFormats();
  const [format, setFormat] = useState<ExportFormat>('csv');
  const [count, setCount] = useState<number | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const [isCut, setIsCut] = useState(false);
  const running = useRef<AbortController>(null);
  useEffect(() => () => running.current?.abort(), []);
  const max = number.format(exportMax);
  const start = async () => {
    const controller = new AbortController();
    running.current = controller;
    setProblem(null);
    setCount(0);
    try {
      const { signal } = controller;
      const settings = { query, format, read: readEvents, signal, onProgress: setCount, cutNote: texts.cut(max) };
      const exported = await exportEvents(settings);
      saveFile(
        exported.file,
        `audit-${new Date().toISOString().slice(0, 10)}${exported.isCut ? '-cut' : ''}.${format}`,
      );
      if (exported.isCut) setIsCut(true);
      else onClose();
    } catch (error) {
      if (!controller.signal.aborted) setProblem(error);
    }
    setCount(null);
  };
  if (isCut)
    return (
      <Stack gap="md">
        <Text role="status">{texts.cut(max)}</Text>
        <Group justify="flex-end">
          <Button onClick={onClose}>{texts.close}</Button>
        </Group>
      </Stack>
    );
  if (count !== null)
    return (
      <Stack gap="md">
        <Text role="status">{texts.progress(count)}</Text>
        <Progress value={100} animated aria-label={texts.title} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {cancel}
          </Button>
        </Group>
      </Stack>
    );
  return (
    <Form onSubmit={start}>
      <Text size="sm">{texts.text(max)}</Text>
      <Radio.Group label={texts.format} value={format} onChange={(next) => setFormat(next === 'csv' ? next : 'ndjson')}>
        <Stack gap="xs" mt="xs">
          <Radio value="csv" label={texts.csv} data-autofocus />
          <Radio value="ndjson" label={texts.ndjson} />
        </Stack>
      </Radio.Group>
      <ProblemAlert error={problem} />
      <DialogButtons onCancel={onClose} isSending={false}>
        {texts.submit}
      </DialogButtons>
    </Form>
  );
}
