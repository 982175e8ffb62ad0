import { ActionIcon, Button, type ButtonProps, CopyButton as Copy, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useShellTexts } from '../texts/use-shell-texts';

/** Renders an icon that copies a text to the clipboard. */
export function CopyIcon({ value, label }: { value: string; label?: string }): ReactNode {
  const texts = useShellTexts();
  return (
    <Copy value={value}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? texts.copied : (label ?? texts.copy)}>
          <ActionIcon variant="subtle" color="gray" onClick={copy} aria-label={label ?? texts.copy}>
            <Icon copied={copied} />
          </ActionIcon>
        </Tooltip>
      )}
    </Copy>
  );
}

interface CopyButtonProps extends Pick<ButtonProps, 'variant'> {
  value: string;
  label: string;
  /** whether the button has the focus when its dialog opens */
  isFirst?: boolean;
}

/** Renders a button that copies a text to the clipboard. */
export function CopyButton({ value, label, isFirst = false, ...rest }: CopyButtonProps): ReactNode {
  const texts = useShellTexts();
  return (
    <Copy value={value}>
      {({ copied, copy }) => (
        <Button {...rest} onClick={copy} leftSection={<Icon copied={copied} />} data-autofocus={isFirst || undefined}>
          <span aria-live="polite">{copied ? texts.copied : label}</span>
        </Button>
      )}
    </Copy>
  );
}

function Icon({ copied }: { copied: boolean }): ReactNode {
  return copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />;
}
