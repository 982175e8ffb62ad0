import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { useShellTexts } from '../texts/use-shell-texts';
import { EmptyState } from './empty-state';
import { PageHeader } from './page-header';

/** The page for unknown paths, and for pages that the user may not see. */
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
