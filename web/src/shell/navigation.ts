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
import type { shellTexts } from '../texts/shell.en';

/** The parts of the navigation, in their order. The first and the last have no heading. */
export const navigationGroups = ['start', 'people', 'security', 'system', 'own'] as const;

/** A page in the navigation. */
export interface NavigationItem {
  /** path below `/console/` */
  to: string;
  /** key of the name in the texts of the navigation */
  text: keyof (typeof shellTexts)['navigation'];
  icon: ComponentType<IconProps>;
  /** part of the navigation that contains the page */
  group: (typeof navigationGroups)[number];
  /** permissions that the user needs at least one of, if they differ from those of the page */
  permissions?: readonly string[];
  /** permission that hides the page here, because another page links to it */
  hiddenWith?: string;
}

/** All pages of the navigation, in their order. */
export const navigationItems: NavigationItem[] = [
  { to: '/', text: 'overview', icon: IconLayoutDashboard, group: 'start', permissions: ['user:read'] },
  { to: '/users', text: 'users', icon: IconUsers, group: 'people' },
  {
    to: '/users/import',
    text: 'import',
    icon: IconUpload,
    group: 'people',
    hiddenWith: 'user:read',
  },
  { to: '/roles', text: 'roles', icon: IconShieldLock, group: 'people' },
  { to: '/operations', text: 'operations', icon: IconListCheck, group: 'people' },
  { to: '/sessions', text: 'sessions', icon: IconDeviceDesktop, group: 'security' },
  { to: '/audit', text: 'audit', icon: IconHistory, group: 'security' },
  { to: '/attacks', text: 'attacks', icon: IconShieldX, group: 'security' },
  { to: '/api-keys', text: 'apiKeys', icon: IconKey, group: 'system' },
  { to: '/webhooks', text: 'webhooks', icon: IconWebhook, group: 'system' },
  { to: '/mails', text: 'mails', icon: IconMail, group: 'system' },
  { to: '/account', text: 'account', icon: IconUserCircle, group: 'own' },
];
