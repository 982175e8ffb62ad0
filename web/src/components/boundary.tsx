import { Button, Container, Stack } from '@mantine/core';
import {
  Component,
  type ComponentType,
  lazy,
  type LazyExoticComponent,
  type ReactNode,
  useEffect,
  useState,
} from 'react';
import { useRouteError } from 'react-router';
import { ApiProblem } from '../api/problems';
import { isReachable } from '../api/reachable';
import { restoreSession } from '../session/session';
import { useShellTexts } from '../texts/use-shell-texts';
import { EmptyState, PageHeader } from './page';
import { ProblemAlert } from './forms/problem-alert';

interface BoundaryProps {
  children: ReactNode;
  /** whether the page is inside the frame, which already has a `main` element */
  isInFrame?: boolean;
}

/** Shows the error of a page that failed to render in place of the page. */
export class Boundary extends Component<BoundaryProps, { error: unknown }> {
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

/** Shows an error as a page. */
export function FailedPage({ error, isInFrame = false, onRetry }: FailedPageProps): ReactNode {
  const texts = useShellTexts();
  return (
    <Container size="xs" py="xl" component={isInFrame ? 'div' : 'main'}>
      <Stack gap="md">
        <PageHeader title={texts.failed.title} />
        {error instanceof ApiProblem ? (
          <ProblemAlert error={error} onRetry={onRetry ?? (() => void restoreSession())} />
        ) : (
          <EmptyState
            title={texts.failed.text}
            action={<Button onClick={() => location.reload()}>{texts.update.reload}</Button>}
          />
        )}
      </Stack>
    </Container>
  );
}

const unreachable = new ApiProblem({ code: 'network.unreachable', status: 0 });

/**
 * Replaces a page whose code could not be loaded.
 * @param error unset as `errorElement` of a route
 */
export function RouteFailure(props: { error?: unknown }): ReactNode {
  const routeError = useRouteError();
  const error = props.error ?? routeError;
  // null = not known yet
  const [responds, setResponds] = useState<boolean | null>(null);
  useEffect(() => {
    void isReachable().then(setResponds);
  }, [error]);
  // A reload during an outage would replace the console with a page of the browser.
  const reload = async () => {
    if (await isReachable()) location.reload();
  };
  if (responds === null) return null;
  if (responds) return <FailedPage error={error} isInFrame />;
  return <FailedPage error={unreachable} isInFrame onRetry={() => void reload()} />;
}

/**
 * Returns a part of a page that is loaded when it is first shown, so that the first load of the
 * page stays small. If that fails, shows the problem in its place: the page may contain input.
 */
export function lazyPart<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): LazyExoticComponent<ComponentType<Props>> {
  const failed = new ApiProblem({ code: 'network.unreachable', status: 0 });
  return lazy(async () => ({ default: await load().catch(() => () => <ProblemAlert error={failed} />) }));
}
