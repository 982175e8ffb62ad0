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
  /** whether the page is inside the frame, which already has a `main` element */
  isInFrame?: boolean;
}

/** Shows the error of a page that failed to render in place of the page. */
export class Boundary extends Component<BoundaryProps, { error: unknown }> {
  /** Shows an error as a page, for errors outside of rendering. */
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
