import { Group, Paper, Text, Title } from '@mantine/core';
import { type ReactNode, useId } from 'react';

interface SectionProps {
  title: string;
  /** one sentence below the title */
  description?: string;
  /** buttons at the right of the title */
  actions?: ReactNode;
  /** whether the page scrolls to the section when it appears, such as to a result */
  isRevealed?: boolean;
  children: ReactNode;
}

/** Shows a titled section of a page. */
export function Section({ title, description, actions, isRevealed = false, children }: SectionProps): ReactNode {
  const id = useId();
  return (
    <Paper ref={isRevealed ? reveal : undefined} component="section" withBorder p="md" radius="md" aria-labelledby={id}>
      <Group justify="space-between" mb="sm" gap="xs">
        <div>
          <Title order={2} size="h5" id={id}>
            {title}
          </Title>
          {description !== undefined && (
            <Text size="sm" c="dimmed">
              {description}
            </Text>
          )}
        </div>
        {actions}
      </Group>
      {children}
    </Paper>
  );
}

function reveal(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: 'start' });
}
