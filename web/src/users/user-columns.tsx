import { Anchor, Badge, Text } from '@mantine/core';
import { type ReactNode, useMemo } from 'react';
import { Link } from 'react-router';
import type { Column } from '../components/data-table';
import { TimeText } from '../components/time-text';
import { useTexts } from '../texts/language';
import { usersTexts as de } from './texts.de';
import { usersTexts as en } from './texts.en';
import { fullNameOf, type User } from './user';
import { UserBadges } from './user-badges';
import classes from './users.module.css';

/** Number of roles that a row shows by name. */
const rolesShown = 1;

/** Returns the columns of the list of users. */
export function useUserColumns(): Column<User>[] {
  const texts = useTexts({ en, de });
  return useMemo(() => columnsOf(texts), [texts]);
}

function columnsOf({ fields, userType }: typeof en): Column<User>[] {
  return [
    { key: 'name', title: fields.name, sortable: true, render: (user) => <NameCell user={user} /> },
    {
      key: 'email',
      title: fields.email,
      sortable: true,
      render: ({ email }) => (
        <span className={classes.email} title={email}>
          {email}
        </span>
      ),
    },
    {
      key: 'carrier_id',
      title: fields.carrier_id,
      sortable: true,
      render: ({ carrier_id }) =>
        carrier_id ?? (
          <Text span inherit c="dimmed">
            {userType.system}
          </Text>
        ),
    },
    { key: 'roles', title: fields.roles, render: ({ roles }) => <RolesCell roles={roles} /> },
    { key: 'status', title: fields.status, sortable: true, render: (user) => <UserBadges user={user} /> },
    {
      key: 'last_login_at',
      title: fields.last_login_at,
      sortable: true,
      render: ({ last_login_at }) => <TimeText value={last_login_at} />,
    },
  ];
}

function NameCell({ user }: { user: User }): ReactNode {
  const texts = useTexts({ en, de });
  const fullName = fullNameOf(user);
  return (
    <div>
      <div className={classes.line}>
        <Anchor component={Link} to={`/users/${user.user_id}`} inherit fw={500} className={classes.breakable}>
          {user.name}
        </Anchor>
        {user.online && <span className={classes.online} role="img" aria-label={texts.online} title={texts.online} />}
      </div>
      {fullName !== null && (
        <Text size="xs" c="dimmed" fw={400}>
          {fullName}
        </Text>
      )}
    </div>
  );
}

function RolesCell({ roles }: { roles: string[] }): ReactNode {
  const texts = useTexts({ en, de });
  if (roles.length === 0)
    return (
      <Text span inherit c="dimmed">
        {texts.noRoles}
      </Text>
    );
  const others = roles.length - rolesShown;
  return (
    <span className={classes.line} title={roles.join(', ')}>
      <span className={classes.breakable}>{roles.slice(0, rolesShown).join(', ')}</span>
      {others > 0 && (
        <Badge component="span" variant="default" size="sm">
          +{others}
        </Badge>
      )}
    </span>
  );
}
