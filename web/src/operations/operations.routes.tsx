import type { ReactNode } from 'react';
import { Route, Routes } from 'react-router';
import { NotFoundPage } from '../components/page';
import { OperationPage } from './operation.page';
import { OperationsPage } from './operations.page';

/** Routes the pages about operations. */
export function OperationsRoutes(): ReactNode {
  return (
    <Routes>
      <Route index element={<OperationsPage />} />
      <Route path=":operationId" element={<OperationPage />} />
      <Route path="*" element={<NotFoundPage />} />
    </Routes>
  );
}
