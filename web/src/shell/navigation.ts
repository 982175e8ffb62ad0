import {
  IconDeviceDesktop,
  IconHistory,
  IconKey,
  IconLayoutDashboard,
  IconListCheck,
  IconMail,
  type IconProps,
  IconShieldLock,
  IconShieldX,
  IconUpload,
  IconUserCircle,
  IconUsers,
  IconWebhook,
} from '@tabler/icons-react';
import type { ComponentType } from 'react';
import { operationPermissions } from '../operations/permissions';
import type { shellTexts } from '../texts/shell.en';

/** A page in the navigation. */
export interface NavigationItem {
  /** path below `/console/` */
  to: string;
  /** key of the name in the texts of the navigation */
  text: keyof (typeof shellTexts)['navigation'];
  icon: ComponentType<IconProps>;
  /** permissions of which the user needs at least one */
  permissions?: string[];
  /** permission that hides the page here, because another page links to it */
  hiddenWith?: string;
}

/** All pages of the navigation, in their order. */
export const navigationItems: NavigationItem[] = [
  { to: '/', text: 'overview', icon: IconLayoutDashboard, permissions: ['user:read'] },
  { to: '/users', text: 'users', icon: IconUsers, permissions: ['user:read'] },
  { to: '/users/import', text: 'import', icon: IconUpload, permissions: ['user:import'], hiddenWith: 'user:read' },
  {
    to: '/operations',
    text: 'operations',
    icon: IconListCheck,
    permissions: operationPermissions,
  },
  { to: '/sessions', text: 'sessions', icon: IconDeviceDesktop },
  { to: '/audit', text: 'audit', icon: IconHistory, permissions: ['audit:read'] },
  { to: '/attacks', text: 'attacks', icon: IconShieldX, permissions: ['audit:read'] },
  { to: '/mails', text: 'mails', icon: IconMail, permissions: ['mail:manage'] },
  { to: '/roles', text: 'roles', icon: IconShieldLock, permissions: ['role:read'] },
  { to: '/api-keys', text: 'apiKeys', icon: IconKey, permissions: ['key:manage'] },
  { to: '/webhooks', text: 'webhooks', icon: IconWebhook, permissions: ['webhook:manage'] },
  { to: '/account', text: 'account', icon: IconUserCircle },
];
