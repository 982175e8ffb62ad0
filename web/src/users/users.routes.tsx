import { lazy, type ReactNode, Suspense } from 'react';
import { Route, Routes } from 'react-router';
import { NotFoundPage } from '../components/not-found';
import { PageSkeleton } from '../components/page-skeleton';
import { useMe } from '../session/use-me';
import { UsersPage } from './users.page';

/** Loaded separately, so that the first load of the list stays small. */
const UserPage = lazy(async () => ({ default: (await import('./user.page')).UserPage }));

/** The pages about users. Without `user:read`, users see at most themselves. */
export function UsersRoutes(): ReactNode {
  const { can } = useMe();
  return (
    <Routes>
      {can('user:read') && <Route index element={<UsersPage />} />}
      <Route
        path=":userId"
        element={
          <Suspense fallback={<PageSkeleton />}>
            <UserPage />
          </Suspense>
        }
      />
      <Route path="*" element={<NotFoundPage />} />
    </Routes>
  );
}
