import { Box } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { ReactNode } from 'react';
import { useNavigate } from 'react-router';
import { BackLink, PageHeader } from '../components/page';
import type { Role } from './data';
import { RoleForm } from './role-form';
import { rolePath } from './role-links';
import { useRoles } from './use-roles';
import { useRolesTexts } from './use-roles-texts';

/** Creates a role. */
export function CreateRolePage(): ReactNode {
  const texts = useRolesTexts();
  const navigate = useNavigate();
  const { data: roles = [] } = useRoles();
  const show = ({ name }: Role) => {
    notifications.show({ message: texts.created(name) });
    void navigate(rolePath(name), { replace: true });
  };
  return (
    <Box maw={880}>
      <BackLink to="/roles">{texts.title}</BackLink>
      <PageHeader title={texts.createTitle} />
      <RoleForm roles={roles} onSaved={show} />
    </Box>
  );
}
