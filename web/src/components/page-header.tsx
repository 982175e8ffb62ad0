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

/** Shows the title of a page with its actions at the right, and sets the title of the tab. */
export function PageHeader({ title, description, actions }: PageHeaderProps): ReactNode {
  useDocumentTitle(`${title} · ${useShellTexts().console}`);
  return (
    <Box mb="md" style={{ overflowWrap: 'anywhere' }}>
      <Group justify="space-between" align="flex-start" gap="sm">
        {/* Keeps a few actions beside the title even on a phone. */}
        <Title order={1} size="h2" flex="1 1 8.5rem" miw={0}>
          {title}
        </Title>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
      {description !== undefined && (
        <Text c="dimmed" size="sm" mt={4} component="div">
          {description}
        </Text>
      )}
    </Box>
  );
}
