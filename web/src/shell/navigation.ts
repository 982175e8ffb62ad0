import {
  IconDeviceDesktop,
  IconHistory,
  IconKey,
  IconLayoutDashboard,
  IconListCheck,
  IconMail,
  type IconProps,
  IconShieldLock,
  IconUpload,
  IconUserCircle,
  IconUsers,
  IconWebhook,
} from '@tabler/icons-react';
import type { ComponentType } from 'react';
import type { shellTexts } from '../texts/shell.en';

/** A page in the navigation. */
export interface NavigationItem {
  /** path below `/console/` */
  to: string;
  /** key of the name in the texts of the navigation */
  text: keyof (typeof shellTexts)['navigation'];
  icon: ComponentType<IconProps>;
  /** permissions that the user needs at least one of, if they differ from those of the page */
  permissions?: readonly string[];
  /** permission that hides the page here, because another page links to it */
  hiddenWith?: string;
}

/** All pages of the navigation, in their order. */
export const navigationItems: NavigationItem[] = [
  { to: '/', text: 'overview', icon: IconLayoutDashboard, permissions: ['user:read'] },
  { to: '/users', text: 'users', icon: IconUsers },
  { to: '/users/import', text: 'import', icon: IconUpload, hiddenWith: 'user:read' },
  {
    to: '/operations',
    text: 'operations',
    icon: IconListCheck,
  },
  { to: '/sessions', text: 'sessions', icon: IconDeviceDesktop },
  { to: '/audit', text: 'audit', icon: IconHistory },
  { to: '/mails', text: 'mails', icon: IconMail },
  { to: '/roles', text: 'roles', icon: IconShieldLock },
  { to: '/api-keys', text: 'apiKeys', icon: IconKey },
  { to: '/webhooks', text: 'webhooks', icon: IconWebhook },
  { to: '/account', text: 'account', icon: IconUserCircle },
];
