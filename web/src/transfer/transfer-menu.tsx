import { ActionIcon, Button, Menu } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconChevronDown, IconDownload, IconTransfer, IconUpload } from '@tabler/icons-react';
import { type ReactNode, useRef } from 'react';
import { Link } from 'react-router';
import { useIsPhone } from '../components/use-is-phone';
import { useMe } from '../session/use-me';
import { ExportDialog } from './export-dialog';
import { useTransferTexts } from './use-transfer-texts';

/**
 * Shows a menu with the import and export of users, or nothing if the user may use neither.
 * @param values `params.values` of the list of users: the export uses the filter of the list
 */
export function TransferMenu({ values }: { values: Record<string, string> }): ReactNode {
  const texts = useTransferTexts();
  const { can } = useMe();
  const button = useRef<HTMLButtonElement>(null);
  const [isOpen, dialog] = useDisclosure();
  const isPhone = useIsPhone();
  const open = () => {
    // The dialog returns the focus to the button, because the menu item disappears.
    button.current?.focus();
    dialog.open();
  };
  if (!can('user:import') && !can('user:export')) return null;
  return (
    <>
      <Menu position="bottom-end" portalProps={{ target: '#content' }}>
        <Menu.Target>
          {isPhone ? (
            <ActionIcon ref={button} variant="default" size="input-sm" aria-label={texts.menu}>
              <IconTransfer size={16} aria-hidden />
            </ActionIcon>
          ) : (
            <Button
              ref={button}
              variant="default"
              leftSection={<IconTransfer size={16} aria-hidden />}
              rightSection={<IconChevronDown size={14} aria-hidden />}
            >
              {texts.menu}
            </Button>
          )}
        </Menu.Target>
        <Menu.Dropdown>
          {can('user:import') && (
            <Menu.Item component={Link} to="/users/import" leftSection={<IconUpload size={16} aria-hidden />}>
              {texts.import.menu}
            </Menu.Item>
          )}
          {can('user:export') && (
            <Menu.Item leftSection={<IconDownload size={16} aria-hidden />} onClick={open}>
              {texts.export.menu}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      <ExportDialog opened={isOpen} onClose={dialog.close} values={values} />
    </>
  );
}
