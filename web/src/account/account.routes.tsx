import type { ReactNode } from 'react';
import { Route, Routes } from 'react-router';
import { NotFoundPage } from '../components/page';
import { AccountPage } from './account.page';

/** Routes the user's own pages. */
export function AccountRoutes(): ReactNode {
  return (
    <Routes>
      <Route index element={<AccountPage />} />
      <Route path="*" element={<NotFoundPage />} />
    </Routes>
  );
}
