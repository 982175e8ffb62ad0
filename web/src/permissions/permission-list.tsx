import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { CutText } from '../components/lists/cut-text';
import { PermissionGroups, PermissionName } from './permission-groups';
import { usePermissionTexts } from './use-permission-texts';

/** Shows the permissions of a role or an API key. */
export function PermissionList({ permissions }: { permissions: readonly string[] }): ReactNode {
  const texts = usePermissionTexts();
  if (permissions.includes('*')) return <Text size="sm">{texts.all}</Text>;
  if (permissions.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {texts.none}
      </Text>
    );
  return (
    <PermissionGroups permissions={permissions}>
      {(permission) => (
        <div key={permission}>
          <PermissionName permission={permission} />
        </div>
      )}
    </PermissionGroups>
  );
}

const shownMax = 3;

/** Shows the first permissions of a role or an API key in one line. */
export function PermissionSummary({ permissions }: { permissions: readonly string[] }): ReactNode {
  const texts = usePermissionTexts();
  if (permissions.includes('*')) return texts.all;
  if (permissions.length === 0)
    return (
      <Text span inherit c="dimmed">
        {texts.none}
      </Text>
    );
  const rest = permissions.length - shownMax;
  const first = permissions.slice(0, rest === 1 ? shownMax + 1 : shownMax).join(', ');
  return (
    <>
      <CutText title={permissions.join(', ')}>{first}</CutText> {rest > 1 && texts.more(rest)}
    </>
  );
}
