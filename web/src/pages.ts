import type { ComponentType } from 'react';
import { operationPermissions } from './operations/permissions';

/** A page of the console, or the pages of a feature. */
export interface Page {
  /** path below `/console/`; `/*` at the end matches all paths of a feature */
  path: string;
  /** permissions of which the user needs at least one */
  permissions?: readonly string[];
  /** Loads the code of the page. */
  load: () => Promise<ComponentType>;
}

/** All pages inside the frame. Their code is loaded when the user first opens them. */
export const pages: readonly Page[] = [
  { path: '/', load: async () => (await import('./overview/start.page')).StartPage },
  {
    path: '/users',
    permissions: ['user:read'],
    load: async () => (await import('./users/users.page')).UsersPage,
  },
  { path: '/users/:userId', load: async () => (await import('./users/details/user.page')).UserPage },
  {
    path: '/users/bulk',
    permissions: ['user:update', 'user:delete'],
    load: async () => (await import('./bulk/bulk.page')).BulkPage,
  },
  {
    path: '/users/import',
    permissions: ['user:import'],
    load: async () => (await import('./transfer/import.page')).ImportPage,
  },
  {
    path: '/operations/*',
    permissions: operationPermissions,
    load: async () => (await import('./operations/operations.routes')).OperationsRoutes,
  },
  { path: '/sessions/*', load: async () => (await import('./sessions/sessions.routes')).SessionsRoutes },
  {
    path: '/audit',
    permissions: ['audit:read'],
    load: async () => (await import('./audit/audit.page')).AuditPage,
  },
  {
    path: '/attacks',
    permissions: ['audit:read'],
    load: async () => (await import('./attacks/attacks.page')).AttacksPage,
  },
  {
    path: '/mails',
    permissions: ['mail:manage'],
    load: async () => (await import('./mails/mails.page')).MailsPage,
  },
  {
    path: '/roles/*',
    permissions: ['role:read'],
    load: async () => (await import('./roles/roles.routes')).RolesRoutes,
  },
  {
    path: '/api-keys/*',
    permissions: ['key:manage'],
    load: async () => (await import('./api-keys/api-keys.routes')).ApiKeysRoutes,
  },
  {
    path: '/webhooks/*',
    permissions: ['webhook:manage'],
    load: async () => (await import('./webhooks/webhooks.routes')).WebhooksRoutes,
  },
  { path: '/account', load: async () => (await import('./account/account.page')).AccountPage },
];

/**
 * Returns the page of a path below `/console`: the one with this path, or the feature that contains
 * it. Pages with parameters are not found.
 */
export function pageAt(path: string): Page | undefined {
  const plain = path.replace(/(?<=.)\/$/, '');
  return (
    pages.find((page) => page.path === plain) ??
    pages.find((page) => page.path.endsWith('/*') && `${plain}/`.startsWith(page.path.slice(0, -1)))
  );
}
