import { Anchor, Badge, Text } from '@mantine/core';
import { type ReactNode, useMemo } from 'react';
import { Link } from 'react-router';
import { CutText } from '../components/lists/cut-text';
import type { Column } from '../components/lists/stacked-rows';
import { TimeText } from '../components/time-text';
import { useTexts } from '../texts/language';
import { fieldsWith, type FieldWith, userFields } from './fields';
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
  return useMemo(
    () =>
      fieldsWith('column').map((field) => ({
        key: field,
        title: texts.fields[field],
        sortable: userFields[field].column === 'sortable',
        render: (user) => cells[field]?.(user) ?? <CutText>{String(user[field] ?? '')}</CutText>,
      })),
    [texts],
  );
}

/** Cells of the columns that show more than a text. */
const cells: Partial<Record<FieldWith<'column'>, (user: User) => ReactNode>> = {
  name: (user) => <NameCell user={user} />,
  carrier_id: ({ carrier_id }) => carrier_id ?? <SystemCell />,
  roles: ({ roles }) => <RolesCell roles={roles} />,
  status: (user) => <UserBadges user={user} />,
  last_login_at: ({ last_login_at }) => <TimeText value={last_login_at} />,
};

function NameCell({ user }: { user: User }): ReactNode {
  const texts = useTexts({ en, de });
  const fullName = fullNameOf(user);
  return (
    <div>
      <div className={classes.line}>
        <Anchor component={Link} to={`/users/${user.user_id}`} inherit fw={500}>
          <CutText>{user.name}</CutText>
        </Anchor>
        {user.online && <span className={classes.online} role="img" aria-label={texts.online} title={texts.online} />}
      </div>
      {fullName !== null && (
        <Text size="xs" c="dimmed" fw={400}>
          <CutText>{fullName}</CutText>
        </Text>
      )}
    </div>
  );
}

function SystemCell(): ReactNode {
  const { userType } = useTexts({ en, de });
  return (
    <Text span inherit c="dimmed" style={{ whiteSpace: 'nowrap' }}>
      {userType.system}
    </Text>
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
    <span className={classes.line}>
      <CutText title={roles.join(', ')}>{roles.slice(0, rolesShown).join(', ')}</CutText>
      {others > 0 && (
        <Badge component="span" variant="default" size="sm">
          +{others}
        </Badge>
      )}
    </span>
  );
}
