import { Badge } from '@mantine/core';
import { IconLock } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { isLocked, type User } from './data';
import { useUsersTexts } from './use-users-texts';
import classes from './users.module.css';

const colors = { invited: 'blue', active: 'green', disabled: 'gray' };

/** Shows the status of a user, and whether the account is locked or deleted. */
export function UserBadges({ user }: { user: User }): ReactNode {
  const texts = useUsersTexts();
  return (
    <span className={classes.badges}>
      {user.deleted_at === null ? (
        <Badge component="span" variant="light" color={colors[user.status]}>
          {texts.status[user.status]}
        </Badge>
      ) : (
        <Badge component="span" variant="light" color="red">
          {texts.deleted}
        </Badge>
      )}
      {isLocked(user) && (
        <Badge component="span" variant="light" color="orange" leftSection={<IconLock size={12} aria-hidden />}>
          {texts.locked}
        </Badge>
      )}
    </span>
  );
}
