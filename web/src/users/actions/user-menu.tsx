import { ActionIcon, type ActionIconProps, Menu } from '@mantine/core';
import {
  IconDeviceDesktopX,
  IconDotsVertical,
  IconKeyOff,
  IconLockOpen,
  IconMail,
  IconMailForward,
  IconRestore,
  IconShieldLock,
  IconTrash,
  IconTrashX,
  IconUserCheck,
  IconUserOff,
} from '@tabler/icons-react';
import { type ReactNode, useRef, useState } from 'react';
import type { User } from '../data';
import { destructiveActions, isOffered, type UserAction, useAllowedActions, useUserActions } from './use-user-actions';
import { useUsersTexts } from '../use-users-texts';
import classes from '../users.module.css';

const icons: Record<UserAction, typeof IconMail> = {
  invite: IconMailForward,
  resetMail: IconMail,
  unlock: IconLockOpen,
  enable: IconUserCheck,
  restore: IconRestore,
  endSessions: IconDeviceDesktopX,
  resetFactors: IconKeyOff,
  secure: IconShieldLock,
  disable: IconUserOff,
  delete: IconTrash,
  purge: IconTrashX,
};

interface UserMenuProps {
  user: User;
  isLarge?: boolean;
  /** actions that stand beside the menu */
  except?: UserAction[];
}

/**
 * Shows a menu of the actions that the caller may use on a user, or nothing if there is none.
 * Renders only its button until the first click: menus in all rows would slow down page changes.
 */
export function UserMenu({ user, isLarge = false, except = [] }: UserMenuProps): ReactNode {
  const texts = useUsersTexts().actions;
  const mayDo = useAllowedActions(user);
  const [wasOpened, setWasOpened] = useState(false);
  const actions = (Object.keys(icons) as UserAction[]).filter(
    (action) => mayDo(action) && isOffered(action, user) && !except.includes(action),
  );
  if (actions.length === 0) return null;
  const button: ActionIconProps & { 'aria-label': string } = {
    variant: isLarge ? 'default' : 'subtle',
    color: 'gray',
    size: isLarge ? 'input-sm' : 'md',
    'aria-label': texts.menu(user.name),
    children: <IconDotsVertical size={16} aria-hidden />,
  };
  return wasOpened ? (
    <ActionsMenu user={user} actions={actions} button={button} />
  ) : (
    <ActionIcon {...button} aria-haspopup="menu" aria-expanded={false} onClick={() => setWasOpened(true)} />
  );
}

interface ActionsMenuProps {
  user: User;
  actions: UserAction[];
  /** look of the button */
  button: ActionIconProps;
}

/** Shows a menu that is open from the start. */
function ActionsMenu({ user, actions, button }: ActionsMenuProps): ReactNode {
  const texts = useUsersTexts().actions;
  const { start, dialog } = useUserActions(user);
  const target = useRef<HTMLButtonElement>(null);
  const focusTarget = () => target.current?.focus();
  return (
    <>
      <Menu
        defaultOpened
        position="bottom-end"
        portalProps={{ target: '#content' }}
        // Mantine cannot return the focus from a menu that is mounted open.
        returnFocus={false}
        onClose={focusTarget}
      >
        <Menu.Target>
          <ActionIcon ref={target} {...button} />
        </Menu.Target>
        <Menu.Dropdown>
          {actions.map((action) => {
            const Icon = icons[action];
            return (
              <Menu.Item
                key={action}
                {...(destructiveActions.includes(action) ? { className: classes.destructive } : {})}
                leftSection={<Icon size={16} aria-hidden />}
                onClick={() => {
                  // A dialog returns the focus to the button, because the item disappears.
                  focusTarget();
                  start(action);
                }}
              >
                {texts[action].label}
              </Menu.Item>
            );
          })}
        </Menu.Dropdown>
      </Menu>
      {dialog}
    </>
  );
}
