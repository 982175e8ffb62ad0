import type { ReactNode } from 'react';
import { NotFoundPage } from '../components/page';
import { useMe } from '../session/use-me';
import { AttacksPage } from './attacks.page';

/** Routes the page about attacks. */
export function AttacksRoutes(): ReactNode {
  const { can } = useMe();
  return can('audit:read') ? <AttacksPage /> : <NotFoundPage />;
}
