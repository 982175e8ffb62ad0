import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { useShellTexts } from '../texts/use-shell-texts';
import { EmptyState } from './empty-state';
import { PageHeader } from './page-header';

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
