import { Button, Group, Stack, Text } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { CopyButton } from '../../components/copy-button';
import { useMe } from '../../session/use-me';
import { saveFile } from '../../transfer/download';
import classes from '../account.module.css';
import { useAccountTexts } from '../use-account-texts';

/** Shows new recovery codes. The API returns them only once. */
export function RecoveryCodes({ codes, onDone }: { codes: string[]; onDone: () => void }): ReactNode {
  const texts = useAccountTexts().codes;
  const { user } = useMe();
  const lines = codes.join('\n');
  const save = () => {
    const content = `${texts.fileTitle(user.name, location.host)}\n\n${lines}\n`;
    saveFile(new Blob([content], { type: 'text/plain' }), texts.fileName);
  };
  return (
    <Stack gap="md">
      <Text size="sm">{texts.text}</Text>
      <ol className={classes.codes} aria-label={texts.label}>
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ol>
      <Group gap="xs" grow preventGrowOverflow={false}>
        <CopyButton value={lines} label={texts.copy} variant="default" />
        <Button variant="default" leftSection={<IconDownload size={16} aria-hidden />} onClick={save}>
          {texts.download}
        </Button>
      </Group>
      <Button onClick={onDone}>{texts.done}</Button>
    </Stack>
  );
}
