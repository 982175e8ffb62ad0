import { Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';

interface EmptyStateProps {
  title: string;
  /** what to do next */
  hint?: string | undefined;
  /** a button for the next step */
  action?: ReactNode;
}

/** Shows that a list or page is empty, and what to do next. */
export function EmptyState({ title, hint, action }: EmptyStateProps): ReactNode {
  return (
    <Stack align="center" gap="xs" py="xl" px="md" role="status">
      <Text fw={600}>{title}</Text>
      {hint !== undefined && (
        <Text size="sm" c="dimmed" ta="center">
          {hint}
        </Text>
      )}
      {action}
    </Stack>
  );
}
