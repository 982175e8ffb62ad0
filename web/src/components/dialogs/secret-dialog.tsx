import { Alert, Button, Code, Group, Modal, Stack, Text, Textarea } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { CopyButton } from '../copy-button';
import classes from './secret-dialog.module.css';

interface SecretDialogProps {
  /** the secret; null closes the dialog */
  value: string | null;
  texts: { title: string; warning: string; label: string; copy: string; use: string; done: string };
  /** shows how to use the secret */
  example: string;
  onDone: () => void;
}

/**
 * Shows a new secret. The secret cannot be shown again, so only the button closes the dialog, not a
 * click beside it.
 */
export function SecretDialog({ value, texts, example, onDone }: SecretDialogProps): ReactNode {
  return (
    <Modal
      opened={value !== null}
      onClose={() => undefined}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      title={texts.title}
      size="lg"
    >
      {value !== null && (
        <Stack gap="md">
          <Alert color="yellow" variant="light" icon={<IconAlertTriangle aria-hidden />}>
            {texts.warning}
          </Alert>
          <Group gap="xs" align="flex-end">
            <Textarea
              label={texts.label}
              autosize
              value={value}
              readOnly
              onFocus={(event) => event.currentTarget.select()}
              classNames={{ root: classes.key, input: classes.value }}
            />
            <CopyButton value={value} label={texts.copy} isFirst />
          </Group>
          <div>
            <Text size="sm" mb={4}>
              {texts.use}
            </Text>
            <Code block style={{ whiteSpace: 'pre-wrap' }}>
              {example}
            </Code>
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
