import type { ReactNode } from 'react';
import { Route, Routes } from 'react-router';
import { NotFoundPage } from '../components/page';
import { useMe } from '../session/use-me';
import { OwnSessionsPage } from './own-sessions.page';
import { SessionsPage } from './sessions.page';

/** Routes the pages about sessions. `session:read` shows the sessions of all users. */
export function SessionsRoutes(): ReactNode {
  const { can } = useMe();
  return (
    <Routes>
      <Route index element={can('session:read') ? <SessionsPage /> : <OwnSessionsPage />} />
      <Route path="own" element={<OwnSessionsPage />} />
      <Route path="*" element={<NotFoundPage />} />
    </Routes>
  );
}
