import { type ReactNode, useEffect, useState } from 'react';
import { useRouteError } from 'react-router';
import { ApiProblem } from '../api/problems';
import { isReachable } from '../api/reachable';
import { Boundary } from './boundary';

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
  if (responds) return <Boundary.Failed error={error} isInFrame />;
  return <Boundary.Failed error={unreachable} isInFrame onRetry={() => void reload()} />;
}
