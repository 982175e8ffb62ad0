import { Alert, Button, Code, Group, Modal, Stack, Text, Textarea } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { CopyButton } from '../components/copy-button';
import { useTexts } from '../texts/language';
import classes from './new-key-dialog.module.css';
import { apiKeysTexts as de } from './texts.de';
import { apiKeysTexts as en } from './texts.en';

/**
 * Shows a new API key. The key cannot be shown again, so only the button closes the dialog, not a
 * click beside it.
 */
export function NewKeyDialog({ apiKey, onDone }: { apiKey: string | null; onDone: () => void }): ReactNode {
  const texts = useTexts({ en, de });
  return (
    <Modal
      opened={apiKey !== null}
      onClose={() => undefined}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      title={texts.createdTitle}
      size="lg"
    >
      {apiKey !== null && (
        <Stack gap="md">
          <Alert color="yellow" variant="light" icon={<IconAlertTriangle aria-hidden />}>
            {texts.createdWarning}
          </Alert>
          <Group gap="xs" align="flex-end">
            <Textarea
              label={texts.key}
              autosize
              value={apiKey}
              readOnly
              onFocus={(event) => event.currentTarget.select()}
              classNames={{ root: classes.key, input: classes.value }}
            />
            <CopyButton value={apiKey} label={texts.copyKey} isFirst />
          </Group>
          <div>
            <Text size="sm" mb={4}>
              {texts.createdUse}
            </Text>
            <Code block>{'Authorization: Bearer cik_…'}</Code>
          </div>
          <Group justify="flex-end">
            <Button variant="default" onClick={onDone}>
              {texts.done}
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}
