import type { ReactNode } from 'react';
import { Route, Routes } from 'react-router';
import { NotFoundPage } from '../components/not-found';
import { useMe } from '../session/use-me';
import { OperationPage } from './operation.page';
import { OperationsPage } from './operations.page';
import { operationPermissions } from './permissions';

/** Routes the pages about operations, for users who may request one kind of them. */
export function OperationsRoutes(): ReactNode {
  const { can } = useMe();
  const mayRead = operationPermissions.some(can);
  return (
    <Routes>
      {mayRead && <Route index element={<OperationsPage />} />}
      {mayRead && <Route path=":operationId" element={<OperationPage />} />}
      <Route path="*" element={<NotFoundPage />} />
    </Routes>
  );
}
