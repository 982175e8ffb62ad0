import type { ReactNode } from 'react';
import { Route, Routes } from 'react-router';
import { NotFoundPage } from '../components/page';
import { useMe } from '../session/use-me';
import { OperationPage } from './operation.page';
import { OperationsPage } from './operations.page';
import { operationPermissions } from './permissions';

/** Routes the pages about operations. Requires a permission to request operations. */
export function OperationsRoutes(): ReactNode {
  const mayRead = useMe().canAny(operationPermissions);
  return (
    <Routes>
      {mayRead && <Route index element={<OperationsPage />} />}
      {mayRead && <Route path=":operationId" element={<OperationPage />} />}
      <Route path="*" element={<NotFoundPage />} />
    </Routes>
  );
}
