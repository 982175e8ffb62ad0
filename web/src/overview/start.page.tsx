import type { ReactNode } from 'react';
import { Navigate } from 'react-router';
import { useMe } from '../session/use-me';
import { OverviewPage } from './overview.page';

/** Shows the overview to users who may read users, and other users their own account. */
export function StartPage(): ReactNode {
  const { can } = useMe();
  return can('user:read') ? <OverviewPage /> : <Navigate to="/account" replace />;
}
