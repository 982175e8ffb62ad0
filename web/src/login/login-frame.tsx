import { Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { LanguageSwitch } from '../shell/language-switch';
import { useShellTexts } from '../texts/use-shell-texts';
import classes from './login.module.css';

/**
 * The frame of the pages that need no login: one card in the middle, and the choice of the
 * language.
 */
export function LoginFrame({ title, children }: { title: string; children: ReactNode }): ReactNode {
  const { console } = useShellTexts();
  useDocumentTitle(`${title} · ${console}`);
  return (
    <main className={classes.page}>
      <Stack gap="md" className={classes.column}>
        <Paper withBorder shadow="xs" radius="md" p="xl">
          {/* Operators of several installations see which one asks for their password. */}
          <Text size="xs" c="dimmed" mb={4} truncate>
            {console} · {location.host}
          </Text>
          <Title order={1} size="h3" mb="lg">
            {title}
          </Title>
          {children}
        </Paper>
        <Group justify="center">
          <LanguageSwitch />
        </Group>
      </Stack>
    </main>
  );
}
