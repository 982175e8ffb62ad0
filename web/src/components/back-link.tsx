import { Anchor, Group } from '@mantine/core';
import { IconArrowLeft } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { pathAsLastSeen } from './use-list-params';

/** A link above the title of a page to the list that the page belongs to, with its last filter. */
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
