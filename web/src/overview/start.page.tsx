import type { ReactNode } from 'react';
import { Navigate } from 'react-router';
import { useMe } from '../session/use-me';
import { OverviewPage } from './overview.page';

/** The start page: figures for users who may read users, their account for other users. */
export function StartPage(): ReactNode {
  const { can } = useMe();
  return can('user:read') ? <OverviewPage /> : <Navigate to="/account" replace />;
}
