import { Anchor, Group } from '@mantine/core';
import { IconArrowLeft } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { pathAsLastSeen } from './use-list-params';

/** Links a page to its list, with the filter and order that the list had last. */
export function BackLink({ to, children }: { to: string; children: ReactNode }): ReactNode {
  return (
    <Anchor component={Link} to={pathAsLastSeen(to)} size="sm" c="dimmed" display="inline-block" mb="xs">
      <Group component="span" gap={4}>
        <IconArrowLeft size={14} aria-hidden />
        {children}
      </Group>
    </Anchor>
  );
}
