import { Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { LanguageSwitch } from '../shell/language-switch';
import { useShellTexts } from '../texts/use-shell-texts';
import classes from './login.module.css';

/** Frames the pages outside of the console: a card in the middle, and the language switch. */
export function LoginFrame({ title, children }: { title: string; children: ReactNode }): ReactNode {
  const { console } = useShellTexts();
  useDocumentTitle(`${title} · ${console}`);
  return (
    <main className={classes.page}>
      <Stack gap="md" className={classes.column}>
        <Paper withBorder shadow="xs" radius="md" p="xl">
          {/* Tells operators of several installations which of them asks for the password. */}
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
