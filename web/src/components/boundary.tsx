import { Button, Container, Stack } from '@mantine/core';
import { Component, type ReactNode } from 'react';
import { ApiProblem } from '../api/problems';
import { restoreSession } from '../session/session';
import { useShellTexts } from '../texts/use-shell-texts';
import { EmptyState } from './empty-state';
import { PageHeader } from './page-header';
import { ProblemAlert } from './problem-alert';

interface BoundaryProps {
  children: ReactNode;
  /** whether the frame surrounds the page, which then is inside of `main` already */
  isInFrame?: boolean;
}

/** Shows a problem of the page where the page would be, instead of an empty window. */
export class Boundary extends Component<BoundaryProps, { error: unknown }> {
  /** The page for a problem, also for a session that cannot be read. */
  static readonly Failed = FailedPage;
  override state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error };
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children;
    const { isInFrame = false } = this.props;
    return <FailedPage error={this.state.error} isInFrame={isInFrame} onRetry={() => this.setState({ error: null })} />;
  }
}

interface FailedPageProps {
  error: unknown;
  isInFrame?: boolean;
  onRetry?: () => void;
}

function FailedPage({ error, isInFrame = false, onRetry }: FailedPageProps): ReactNode {
  const texts = useShellTexts();
  return (
    <Container size="xs" py="xl" component={isInFrame ? 'div' : 'main'}>
      {error instanceof ApiProblem ? (
        <Stack gap="md">
          {isInFrame && <PageHeader title={texts.failed.title} />}
          <ProblemAlert error={error} onRetry={onRetry ?? (() => void restoreSession())} />
        </Stack>
      ) : (
        <EmptyState
          title={texts.failed.title}
          hint={texts.failed.text}
          action={<Button onClick={() => location.reload()}>{texts.update.reload}</Button>}
        />
      )}
    </Container>
  );
}
