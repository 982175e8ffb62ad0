import { Alert, Button, FileButton, Group, Stack, Text } from '@mantine/core';
import { IconFileSpreadsheet } from '@tabler/icons-react';
import { clsx } from 'clsx';
import { type DragEvent, type ReactNode, useState } from 'react';
import { sizeText } from '../components/size-text';
import { useLanguage } from '../texts/language';
import { importColumns } from '../users/fields';
import { formatOf } from './bad-rows';
import { saveFile } from './download';
import classes from './file-drop.module.css';
import { labelIn, templateIn } from './table-file';
import { useTransferTexts } from './use-transfer-texts';

interface FileDropProps {
  file: File | null;
  onChange: (file: File) => void;
}

/** Asks for a file by drag and drop or with a file dialog. */
export function FileDrop({ file, onChange }: FileDropProps): ReactNode {
  const texts = useTransferTexts().import;
  const language = useLanguage();
  const [isOver, setIsOver] = useState(false);
  const [fault, setFault] = useState<'wrongType' | 'empty' | null>(null);
  const take = (chosen: File | null | undefined) => {
    if (chosen === null || chosen === undefined) return;
    const found = formatOf(chosen) === null ? 'wrongType' : chosen.size === 0 ? 'empty' : null;
    setFault(found);
    if (found === null) onChange(chosen);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(false);
    take(event.dataTransfer.files[0]);
  };
  return (
    <div
      className={clsx(classes.drop, isOver && classes.over)}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={drop}
    >
      <Stack align="center" gap="xs">
        <IconFileSpreadsheet size={32} stroke={1.5} aria-hidden className={classes.icon} />
        <Text fw={600} className={classes.name}>
          {file === null ? texts.drop : texts.file(file.name, sizeText(file.size, language))}
        </Text>
        <Group gap="xs">
          {file === null && (
            <Text size="sm" c="dimmed">
              {texts.or}
            </Text>
          )}
          {/* Without the key, selecting a corrected file again would have no effect. */}
          <FileButton key={file?.lastModified} onChange={take} accept=".csv,.tsv,.txt,.ndjson,.jsonl,text/csv">
            {(props) => (
              <Button {...props} variant="default" size="xs">
                {file === null ? texts.choose : texts.otherFile}
              </Button>
            )}
          </FileButton>
        </Group>
        <Text size="xs" c="dimmed" ta="center">
          {texts.formats}
        </Text>
        <Text size="xs" c="dimmed" ta="center" className={classes.name}>
          {texts.columns(importColumns.map((column) => labelIn(language, column)).join(', '))}
        </Text>
        <Button variant="subtle" size="compact-xs" onClick={() => saveFile(templateIn(language), 'users.csv')}>
          {texts.template}
        </Button>
        {fault !== null && (
          <Alert color="red" variant="light" role="alert">
            {texts[fault]}
          </Alert>
        )}
      </Stack>
    </div>
  );
}
