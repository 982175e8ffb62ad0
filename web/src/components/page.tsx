import { Anchor, Box, Button, Group, Paper, Skeleton, Stack, Text, Title, VisuallyHidden } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { IconArrowLeft } from '@tabler/icons-react';
import { type ReactNode, useId } from 'react';
import { Link } from 'react-router';
import { useFirstData } from '../api/first-data';
import { tabTitle } from '../installation';
import { useShellTexts } from '../texts/use-shell-texts';
import { pathAsLastSeen } from './lists/use-list-params';
import classes from './page.module.css';

interface PageHeaderProps {
  title: string;
  /** one sentence below the title */
  description?: ReactNode;
  /** buttons at the right */
  actions?: ReactNode;
}

/** Shows the title of a page with its actions at the right, and sets the title of the tab. */
export function PageHeader({ title, description, actions }: PageHeaderProps): ReactNode {
  useDocumentTitle(tabTitle(title));
  useFirstData();
  return (
    <Box mb="md" style={{ overflowWrap: 'anywhere' }}>
      <Group justify="space-between" align="flex-start" gap="sm">
        {/* Keeps a few actions beside the title even on a phone. */}
        <Title order={1} flex="1 1 8.5rem" miw={0} lh="2.25rem">
          {title}
        </Title>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
      {description !== undefined && (
        <Text c="dimmed" size="sm" mt={{ base: 'xs', sm: 4 }} component="div">
          {description}
        </Text>
      )}
    </Box>
  );
}

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

/** Keeps the buttons at the end of a long form in view. */
export function FormActions({ children }: { children: ReactNode }): ReactNode {
  return (
    <Group justify="flex-end" className={classes.actions}>
      {children}
    </Group>
  );
}

/** Shows a placeholder while a page loads. */
export function PageSkeleton(): ReactNode {
  const { loading } = useShellTexts();
  return (
    <Stack gap="md" p="md">
      <VisuallyHidden role="status">{loading}</VisuallyHidden>
      <Skeleton height={28} width={220} maw="60%" />
      <Skeleton height={36} />
      <Skeleton height={240} />
    </Stack>
  );
}

/** Shows that a path is unknown, or that the user may not see its page. */
export function NotFoundPage(): ReactNode {
  const { notFound } = useShellTexts();
  return (
    <>
      <PageHeader title={notFound.title} />
      <EmptyState
        title={notFound.text}
        action={
          <Button component={Link} to="/" variant="default">
            {notFound.home}
          </Button>
        }
      />
    </>
  );
}
