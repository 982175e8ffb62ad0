import { Box } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { ReactNode } from 'react';
import { useNavigate } from 'react-router';
import { BackLink, PageHeader } from '../components/page';
import { useTexts } from '../texts/language';
import type { Role } from './data';
import { RoleForm } from './role-form';
import { rolePath } from './role-links';
import { rolesTexts as de } from './texts.de';
import { rolesTexts as en } from './texts.en';
import { useRoles } from './use-roles';

/** Creates a role. */
export function CreateRolePage(): ReactNode {
  const texts = useTexts({ en, de });
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
