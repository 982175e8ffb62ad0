import type { ReactNode } from 'react';
import { Route, Routes } from 'react-router';
import { NotFoundPage } from '../components/page';
import { useMe } from '../session/use-me';
import { MailsPage } from './mails.page';

/** Routes the unsent e-mails, for users with `mail:manage`. */
export function MailsRoutes(): ReactNode {
  const { can } = useMe();
  return (
    <Routes>
      {can('mail:manage') && <Route index element={<MailsPage />} />}
      <Route path="*" element={<NotFoundPage />} />
    </Routes>
  );
}
