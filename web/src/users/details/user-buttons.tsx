import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from '../../texts/language';
import { usersTexts as de } from '../texts.de';
import { usersTexts as en } from '../texts.en';
import { destructiveActions, isOffered, type UserAction, useUserActions } from '../use-user-actions';
import { UserMenu } from '../user-menu';
import type { User } from '../user';

/** Returns the actions that the state of a user calls for. */
function actionsFor({ status }: User): UserAction[] {
  return ['restore', 'unlock', 'enable', 'invite', ...(status === 'active' ? (['secure'] as const) : [])];
}

/** Shows the actions that the state of a user calls for as buttons, and all others in a menu. */
export function UserButtons({ user }: { user: User }): ReactNode {
  const texts = useTexts({ en, de }).actions;
  const { mayDo, start, dialog } = useUserActions(user);
  const shown = actionsFor(user).filter((action) => mayDo(action) && isOffered(action, user));
  return (
    <>
      {shown.map((action) => (
        <Button
          key={action}
          {...(destructiveActions.includes(action) ? { color: 'red', variant: 'light' } : {})}
          onClick={() => start(action)}
        >
          {texts[action].label}
        </Button>
      ))}
      <UserMenu user={user} isLarge except={shown} />
      {dialog}
    </>
  );
}
