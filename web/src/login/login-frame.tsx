import { Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { useFirstData } from '../api/first-data';
import { Brand } from '../components/brand';
import { tabTitle } from '../installation';
import { LanguageSwitch } from '../shell/language-switch';
import classes from './login.module.css';

/** Frames the pages outside of the console: a card in the middle, and the language switch. */
export function LoginFrame({ title, children }: { title: string; children: ReactNode }): ReactNode {
  useDocumentTitle(tabTitle(title));
  useFirstData();
  return (
    <main className={classes.page}>
      <Stack gap="md" className={classes.column}>
        <Brand />
        <Paper withBorder p="xl">
          <Title order={1} size="h3">
            {title}
          </Title>
          {/* Tells operators of several installations which of them asks for the password. */}
          <Text size="xs" c="dimmed" mb="lg" truncate>
            {location.host}
          </Text>
          {children}
        </Paper>
        <Group justify="center">
          <LanguageSwitch />
        </Group>
      </Stack>
    </main>
  );
}
