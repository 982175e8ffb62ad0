import { Text } from '@mantine/core';
import { type ReactNode, useId } from 'react';
import { own } from '../own';
import classes from './permissions.module.css';
import { groupedByModule, isOwn } from './permissions';
import { usePermissionTexts } from './use-permission-texts';

interface PermissionGroupsProps {
  permissions: readonly string[];
  /** Renders a permission of a group. */
  children: (permission: string) => ReactNode;
}

/** Shows permissions grouped by module, one row each. */
export function PermissionGroups({ permissions, children }: PermissionGroupsProps): ReactNode {
  const groups = groupedByModule(permissions);
  if (groups.length === 0) return null;
  return (
    <div className={classes.groups}>
      {groups.map((group) => (
        <Group key={group.module} module={group.module}>
          {group.permissions.map(children)}
        </Group>
      ))}
    </div>
  );
}

function Group({ module, children }: { module: string; children: ReactNode }): ReactNode {
  const id = useId();
  const { modules } = usePermissionTexts();
  return (
    <div role="group" aria-labelledby={id} className={classes.group}>
      <Text id={id} size="sm" fw={600}>
        {own(modules, module) ?? module}
      </Text>
      <div className={classes.items}>{children}</div>
    </div>
  );
}

/** Shows what a permission allows, with its name in the API below. */
export function PermissionName({ permission }: { permission: string }): ReactNode {
  const { meanings } = usePermissionTexts();
  if (!isOwn(permission))
    return (
      <Text span size="sm" className={classes.name}>
        {permission}
      </Text>
    );
  return (
    <>
      <Text span size="sm" className={classes.name}>
        {meanings[permission]}
      </Text>
      <Text span size="xs" c="dimmed" className={classes.name}>
        {permission}
      </Text>
    </>
  );
}
