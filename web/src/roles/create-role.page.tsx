import { Box } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { ReactNode } from 'react';
import { useNavigate } from 'react-router';
import { BackLink, PageHeader } from '../components/page';
import { useTexts } from '../texts/language';
import { createRole } from './data';
import { RoleForm, type RoleSave } from './role-form';
import { rolePath } from './role-links';
import { rolesTexts as de } from './texts.de';
import { rolesTexts as en } from './texts.en';
import { useRoles } from './use-roles';

/** Creates a role. */
export function CreateRolePage(): ReactNode {
  const texts = useTexts({ en, de });
  const navigate = useNavigate();
  const { data: roles = [] } = useRoles();
  const create = async ({ draft, new_prefix }: RoleSave) => {
    const role = await createRole(draft, new_prefix);
    notifications.show({ message: texts.created(draft.name) });
    void navigate(rolePath(draft.name), { replace: true });
    return role;
  };
  return (
    <Box maw={880}>
      <BackLink to="/roles">{texts.title}</BackLink>
      <PageHeader title={texts.createTitle} />
      <RoleForm roles={roles} submitLabel={texts.create} onSave={create} />
    </Box>
  );
}
