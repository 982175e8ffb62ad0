import { Box, Group, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { useShellTexts } from '../texts/use-shell-texts';

interface PageHeaderProps {
  title: string;
  /** one sentence below the title */
  description?: ReactNode;
  /** buttons at the right */
  actions?: ReactNode;
}

/**
 * The title of a page, which is also the title of the tab, with the actions of the page at the
 * right.
 */
export function PageHeader({ title, description, actions }: PageHeaderProps): ReactNode {
  useDocumentTitle(`${title} · ${useShellTexts().console}`);
  return (
    <Group justify="space-between" align="flex-start" mb="md" gap="sm">
      {/* Few actions stay beside the title, also on a phone. */}
      <Box flex="1 1 8.5rem" miw={0} style={{ overflowWrap: 'anywhere' }}>
        <Title order={1} size="h2">
          {title}
        </Title>
        {description !== undefined && (
          <Text c="dimmed" size="sm" mt={4} component="div">
            {description}
          </Text>
        )}
      </Box>
      {actions !== undefined && <Group gap="xs">{actions}</Group>}
    </Group>
  );
}
