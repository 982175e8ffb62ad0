import type { ReactNode } from 'react';
import { Route, Routes } from 'react-router';
import { NotFoundPage } from '../components/page';
import { useMe } from '../session/use-me';
import { UsersPage } from './users.page';

/** Routes the list of users, for callers with `user:read`. */
export function UsersRoutes(): ReactNode {
  const { can } = useMe();
  return (
    <Routes>
      {can('user:read') && <Route index element={<UsersPage />} />}
      <Route path="*" element={<NotFoundPage />} />
    </Routes>
  );
}
