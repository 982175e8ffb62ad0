import { Button, Group, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { ReactNode } from 'react';
import { Link, useNavigate } from 'react-router';
import { changed } from '../api/stale';
import { ConfirmDialog } from '../components/dialogs/confirm-dialog';
import { Dialog } from '../components/dialogs/dialog';
import { useShellTexts } from '../texts/use-shell-texts';
import { deleteRole, type Role } from './data';
import { holdersPath } from './role-links';
import { useHolderCount } from './use-roles';
import { useRolesTexts } from './use-roles-texts';

interface DeleteRoleDialogProps {
  role: Role;
  /** all roles */
  roles: Role[];
  opened: boolean;
  onClose: () => void;
}

/**
 * Asks before a role is deleted. A role that users have, or that another role may grant, cannot be
 * deleted: then the dialog shows the number of users and names the other roles.
 */
export function DeleteRoleDialog({ role, roles, opened, onClose }: DeleteRoleDialogProps): ReactNode {
  const texts = useRolesTexts();
  const navigate = useNavigate();
  const holders = useHolderCount(role.name);
  const granters = roles.filter(({ name, may_grant }) => name !== role.name && may_grant.includes(role.name));
  const remove = async () => {
    await deleteRole(role);
    notifications.show({ message: texts.deleted(role.name) });
    void navigate('/roles', { replace: true });
    void changed('roles');
  };
  if ((holders ?? 0) > 0 || granters.length > 0)
    return <InUseDialog role={role} holders={holders ?? 0} granters={granters} opened={opened} onClose={onClose} />;
  return (
    <ConfirmDialog
      opened={opened}
      title={texts.deleteTitle(role.name)}
      confirmLabel={texts.delete}
      isDestructive
      onConfirm={remove}
      onClose={onClose}
    >
      <Text size="sm">{holders === undefined ? texts.deleteUnknown : texts.deleteText}</Text>
    </ConfirmDialog>
  );
}

interface InUseDialogProps extends Omit<DeleteRoleDialogProps, 'roles'> {
  holders: number;
  granters: Role[];
}

function InUseDialog({ role, holders, granters, opened, onClose }: InUseDialogProps): ReactNode {
  const texts = useRolesTexts();
  const { close } = useShellTexts();
  return (
    <Dialog opened={opened} onClose={onClose} title={texts.deleteBlocked(role.name)}>
      <Stack gap="md">
        {holders > 0 && <Text size="sm">{texts.deleteInUse(holders)}</Text>}
        {granters.length > 0 && (
          <Text size="sm">{texts.deleteGranted(granters.map(({ name }) => name).join(', '))}</Text>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {close}
          </Button>
          {holders > 0 && (
            <Button component={Link} to={holdersPath(role.name)}>
              {texts.showHolders}
            </Button>
          )}
        </Group>
      </Stack>
    </Dialog>
  );
}
