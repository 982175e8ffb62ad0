import { ActionIcon, Menu, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconDots } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { ConfirmDialog } from '../../components/dialogs/confirm-dialog';
import { TimeText } from '../../components/time-text';
import { SettingRow } from '../setting-row';
import { useAccountTexts } from '../use-account-texts';
import { type Factor, removeFactor } from './data';
import { FactorIcon } from './factor-icon';
import { RenameDialog } from './rename-dialog';

/** Shows a second factor with its menu. */
export function FactorRow({ factor, isLast }: { factor: Factor; isLast: boolean }): ReactNode {
  const texts = useAccountTexts().factors;
  const [dialog, setDialog] = useState<'rename' | 'remove' | null>(null);
  const { factor_id, kind, name, provider, created_at, last_used_at } = factor;
  const close = () => setDialog(null);
  const remove = async () => {
    await removeFactor(factor_id);
    notifications.show({ message: texts.removed(name) });
  };
  // The default name of an app is the name of its kind.
  const kindText = texts[kind] === name ? [] : [texts[kind]];
  return (
    <>
      <SettingRow
        icon={<FactorIcon kind={kind} />}
        title={name}
        action={
          <Menu position="bottom-end">
            <Menu.Target>
              <ActionIcon variant="subtle" color="gray" aria-label={texts.actionsFor(name)}>
                <IconDots size={18} aria-hidden />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item onClick={() => setDialog('rename')}>{texts.rename}</Menu.Item>
              <Menu.Item color="red" onClick={() => setDialog('remove')}>
                {texts.remove}
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
        }
      >
        {[...kindText, ...(provider === undefined ? [] : [provider])].map((part) => `${part} · `)}
        {texts.added} <TimeText value={created_at} />
        {last_used_at !== null && (
          <>
            {`, ${texts.lastUsed} `}
            <TimeText value={last_used_at} />
          </>
        )}
      </SettingRow>
      <RenameDialog factor={factor} opened={dialog === 'rename'} onClose={close} />
      <ConfirmDialog
        opened={dialog === 'remove'}
        title={texts.removeTitle(name)}
        confirmLabel={texts.remove}
        isDestructive
        onConfirm={remove}
        onClose={close}
      >
        <Text size="sm">{texts.removeText}</Text>
        {isLast && (
          <Text size="sm" mt="xs">
            {texts.removeLastText}
          </Text>
        )}
      </ConfirmDialog>
    </>
  );
}
