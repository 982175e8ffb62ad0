import type { ReactNode } from 'react';
import { Route, Routes } from 'react-router';
import { NotFoundPage } from '../components/page';
import { useMe } from '../session/use-me';
import { AuditPage } from './audit.page';

/** Routes the audit log, for users with `audit:read`. */
export function AuditRoutes(): ReactNode {
  const { can } = useMe();
  return (
    <Routes>
      {can('audit:read') && <Route index element={<AuditPage />} />}
      <Route path="*" element={<NotFoundPage />} />
    </Routes>
  );
}
