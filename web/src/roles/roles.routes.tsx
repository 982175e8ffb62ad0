import type { ReactNode } from 'react';
import { Route, Routes } from 'react-router';
import { NotFoundPage } from '../components/page';
import { CreateRolePage } from './create-role.page';
import { RolePage } from './role.page';
import { RolesPage } from './roles.page';
import { useRoleRights } from './use-roles';

/** Routes the pages about roles. The role name `create` is reserved. */
export function RolesRoutes(): ReactNode {
  const { mayManage } = useRoleRights();
  return (
    <Routes>
      <Route index element={<RolesPage />} />
      {mayManage && <Route path="create" element={<CreateRolePage />} />}
      <Route path=":name" element={<RolePage />} />
      <Route path="*" element={<NotFoundPage />} />
    </Routes>
  );
}
