import { ActionIcon, type MantineColorScheme, Menu, useMantineColorScheme } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconKeyboard, IconLogout, IconUserCircle } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useNavigate } from 'react-router';
import { logOut } from '../session/session';
import { useMe } from '../session/use-me';
import { type Language, languages, setLanguage, useLanguage } from '../texts/language';
import { useErrorTexts } from '../texts/use-error-texts';
import { useShellTexts } from '../texts/use-shell-texts';

/** Shows the menu of the logged-in user: account, shortcuts, language, colors, logout. */
export function UserMenu({ onShowShortcuts }: { onShowShortcuts: () => void }): ReactNode {
  const { user } = useMe();
  const { menu, navigation } = useShellTexts();
  const { textOf } = useErrorTexts();
  const language = useLanguage();
  const navigate = useNavigate();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const logout = () =>
    void logOut().catch((error: unknown) => notifications.show({ color: 'red', message: textOf(error) }));
  return (
    <Menu position="bottom-end" offset={12} width={240} withinPortal={false}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={menu.open(user.name)}>
          <IconUserCircle size={20} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{user.name}</Menu.Label>
        <Menu.Item leftSection={<IconUserCircle size={16} aria-hidden />} onClick={() => void navigate('/account')}>
          {navigation.account}
        </Menu.Item>
        <Menu.Item leftSection={<IconKeyboard size={16} aria-hidden />} onClick={onShowShortcuts}>
          {menu.shortcuts}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>{menu.language}</Menu.Label>
        <Menu.RadioGroup value={language} onChange={(code) => setLanguage(code as Language)}>
          {Object.entries(languages).map(([code, name]) => (
            <Menu.RadioItem key={code} value={code} lang={code} closeMenuOnClick>
              {name}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        <Menu.Divider />
        <Menu.Label>{menu.colors}</Menu.Label>
        <Menu.RadioGroup value={colorScheme} onChange={(scheme) => setColorScheme(scheme as MantineColorScheme)}>
          {(['light', 'dark', 'auto'] as const).map((scheme) => (
            <Menu.RadioItem key={scheme} value={scheme} closeMenuOnClick>
              {scheme === 'auto' ? menu.system : menu[scheme]}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout size={16} aria-hidden />} onClick={logout}>
          {menu.logout}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
